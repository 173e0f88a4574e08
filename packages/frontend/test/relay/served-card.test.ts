import { describe, expect, it } from "vitest";
import { servedCard } from "../../src/relay/served-card.ts";
import { FakeView, type WorkerSpec } from "../support/fake-view.ts";

const workersOf = (...specs: readonly WorkerSpec[]) => [...new FakeView(specs).workers.values()];
const prefill: WorkerSpec = {
  id: "p1",
  type: "prefill",
  card: { contextLength: 4_096, capabilities: ["n", "seed", "logprobs"] },
};
const decode: WorkerSpec = {
  id: "d1",
  type: "decode",
  card: { contextLength: 2_048, capabilities: ["logprobs", "n"] },
};
const aggregated: WorkerSpec = {
  id: "a1",
  type: "aggregated",
  card: { contextLength: 512, capabilities: [] },
};

describe("the card of a served model", () => {
  it("has what prefill and decode workers can do both", () => {
    expect(servedCard(workersOf(prefill, decode, aggregated), "disaggregated")).toMatchObject({
      contextLength: 2_048,
      capabilities: ["n", "logprobs"],
    });
    expect(servedCard(workersOf(decode, prefill), "disaggregated")?.contextLength).toBe(2_048);
  });

  it("is that of the workers alone that a request goes through", () => {
    const all = workersOf(prefill, decode, aggregated);

    expect(servedCard(all, "aggregated")?.contextLength).toBe(512);
    expect(servedCard(all, "decode-only")?.contextLength).toBe(2_048);
  });

  it("is one and the same where all are alike", () => {
    const [one, ...others] = workersOf(prefill, { ...prefill, id: "p2" }, { ...prefill, id: "p3" });

    expect(one && servedCard([one, ...others], "disaggregated")).toBe(one?.registration.card);
  });

  it("leaves out who is lost, unless nobody else is there", () => {
    const view = new FakeView([decode, { ...decode, id: "d2", card: { contextLength: 64 } }]);
    view.lose("d2");

    expect(servedCard([...view.workers.values()], "decode-only")?.contextLength).toBe(2_048);
    view.lose("d1");
    expect(servedCard([...view.workers.values()], null)?.contextLength).toBe(2_048);
    expect(servedCard([], null)).toBeNull();
  });
});
