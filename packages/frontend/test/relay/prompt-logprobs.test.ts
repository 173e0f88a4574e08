import { describe, expect, it } from "vitest";
import { endOf, entryOf, RelayRig } from "../support/relay-rig.ts";

const asking = {
  output: { maxTokens: 8, n: 1, promptLogprobs: 0 },
  returns: { promptText: true, tokens: false },
};
/** The rig's prompt has six tokens. */
const promptLogprobs = [-1, -2, -3, -4, -5].map((chosen) => ({ chosen, top: [] }));
const told = [null, -1, -2, -3, -4, -5];

describe("what is told of a prompt before its answer", () => {
  it("is what prefill said of it", async () => {
    const rig = new RelayRig();
    const one = rig.submit(asking);
    await rig.toPrefillRunning(one);
    rig.prefilled(one, { promptLogprobs });
    await rig.settle();
    rig.dispatched(one, "decode", "d1");
    rig.frame("d1", [entryOf(one, "a", 0)]);
    await rig.settle();
    rig.frame("d1", [entryOf(one, "b", 1, endOf("length"))]);
    await rig.settle();

    expect(one.sink.prompts.map(({ logprobs }) => logprobs?.map(({ logprob }) => logprob))).toEqual(
      [told],
    );
    expect(one.sink.prompts[0]?.promptTokens).toBe(6);
    expect(one.sink.text()).toBe("ab");
  });

  it("is the same where prefill ends the generation", async () => {
    const rig = new RelayRig();
    const one = rig.submit(asking);
    await rig.toPrefillRunning(one);

    rig.prefilled(one, { promptLogprobs, finishReasons: ["length"] });
    await rig.settle();

    expect(one.sink.prompts[0]?.logprobs?.map(({ logprob }) => logprob)).toEqual(told);
    expect(one.sink.outcome()).toBe("completed");
  });

  it("is the same where one worker does both", async () => {
    const rig = new RelayRig([{ id: "a1", type: "aggregated" }]);
    const one = rig.submit(asking);
    await rig.settle();
    rig.dispatched(one, "decode", "a1");

    rig.frame("a1", [{ ...entryOf(one, "a", 0, endOf("length")), promptLogprobs }]);
    await rig.settle();

    expect(one.sink.prompts[0]?.logprobs?.map(({ logprob }) => logprob)).toEqual(told);
  });

  it("fails the request if the engine did not give what was asked of it", async () => {
    const rig = new RelayRig();
    const one = rig.submit(asking);
    await rig.toHandoff(one);

    rig.frame("d1", [entryOf(one, "a", 0)]);
    await rig.settle();

    expect(one.sink.prompts).toEqual([]);
    expect(one.sink.outcome()).toBe("failed decode.streaming engine_protocol");
  });
});
