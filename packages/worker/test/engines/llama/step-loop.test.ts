import { describe, expect, it } from "vitest";
import type { ChildMessage, RunCommand } from "../../../src/engines/llama/child-protocol.ts";
import { Sampler, type Sampling } from "../../../src/engines/llama/sampling.ts";
import { StepLoop } from "../../../src/engines/llama/step-loop.ts";
import { FakeSequence } from "./fake-sequence.ts";

const sampling: Sampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: [],
  seed: 0,
  minTokens: 0,
  ignoreEos: false,
  stopTokenIds: [],
  logprobs: null,
  grammar: null,
};

function setUp(options: { slots?: number; stepTokens?: number; contextSize?: number } = {}) {
  const { slots = 3, stepTokens = 11, contextSize = 100 } = options;
  const sequences: FakeSequence[] = [];
  const sent: ChildMessage[] = [];
  let complaint: string | undefined;
  const loop = new StepLoop(
    { slots, chunkTokens: 8, stepTokens, contextSize },
    {
      newSequence: () => {
        const sequence = new FakeSequence();
        sequences.push(sequence);
        return sequence;
      },
      newSampler: (wanted) => new Sampler(wanted, () => false, undefined, undefined),
      send: (message) => sent.push(message),
      lastComplaint: () => complaint,
    },
  );
  return {
    loop,
    sequences,
    sent,
    complain: (line: string) => {
      complaint = line;
    },
    steps: () => sent.filter((message) => message.kind === "step"),
  };
}

let lastRun = 0;

function run(tokens: number[], command: Partial<RunCommand> = {}): RunCommand {
  lastRun += 1;
  return {
    kind: "run",
    run: lastRun,
    slot: 0,
    tokens: Uint32Array.from(tokens),
    promptTokens: tokens.length,
    kept: 0,
    sampling,
    choiceSeeds: null,
    promptLogprobs: null,
    maxTokens: 3,
    saveTo: null,
    ...command,
  };
}

const counting = (length: number) => Array.from({ length }, (_, index) => index);

describe("StepLoop", () => {
  it("feeds chunks that end at multiples of the chunk size, then one token a step", async () => {
    const { loop, sequences, steps } = setUp();
    await loop.handle(run(counting(20)));
    expect(sequences[0]?.calls).toEqual([8, 8, 4, 1, 1]);
    expect(steps().map(({ held }) => held[0]?.[1])).toEqual([8, 16, 20, 21, 22]);
    expect(steps().map(({ outputs }) => outputs.length)).toEqual([0, 0, 1, 1, 1]);
    expect(steps().at(-1)?.outputs[0]?.finish).toBe("length");
  });

  it("ends the first chunk at the same multiple when a prefix is kept", async () => {
    const { loop, sequences } = setUp();
    sequences[0]!.held = counting(13);
    await loop.handle(run(counting(20), { kept: 5, maxTokens: 1 }));
    expect(sequences[0]?.calls).toEqual([3, 8, 4]);
  });

  it("takes decoding sequences first, then prompts in order as far as whole chunks fit", async () => {
    const { loop, sequences } = setUp({ stepTokens: 17 });
    const first = loop.handle(run([1, 2], { slot: 0, maxTokens: 9 }));
    await loop.handle(run(counting(16), { slot: 1, maxTokens: 1 }));
    await loop.handle(run(counting(24), { slot: 2, maxTokens: 1 }));
    await first;
    // 17 tokens: one to decode and two chunks of 8.
    expect(sequences.map(({ calls }) => calls.length)).toEqual([9, 2, 3]);
    const narrow = setUp({ stepTokens: 11 });
    const narrowFirst = narrow.loop.handle(run(counting(16), { slot: 0, maxTokens: 1 }));
    await narrow.loop.handle(run(counting(16), { slot: 1, maxTokens: 1 }));
    await narrowFirst;
    expect(narrow.steps().map(({ held }) => held.map(([, tokens]) => tokens))).toEqual([
      [8],
      [16],
      [8],
      [16],
    ]);
  });

  it("sends one message a step with the tokens of all its runs", async () => {
    const { loop, steps } = setUp();
    const both = [run([1], { slot: 0 }), run([2], { slot: 1 })];
    await Promise.all(both.map((command) => loop.handle(command)));
    expect(steps().some(({ outputs }) => outputs.length === 2)).toBe(true);
  });

  it("stops a cancelled run before the next step and keeps what its slot holds", async () => {
    const { loop, sequences, sent, steps } = setUp();
    let open: () => void = () => {};
    sequences[0]!.gate = new Promise((resolve) => {
      open = resolve;
    });
    const command = run(counting(80), { maxTokens: 1 });
    const running = loop.handle(command);
    await expect.poll(() => sequences[0]?.calls.length).toBe(1);
    await loop.handle({ kind: "cancel", run: command.run });
    open();
    await running;
    expect(steps()).toHaveLength(1);
    expect(sent.at(-1)).toEqual({ kind: "cancelled", run: command.run });
    expect(sequences[0]?.held).toHaveLength(8);
  });

  it("takes no notice of a cancel of a run that has ended", async () => {
    const { loop, sent } = setUp();
    await loop.handle({ kind: "cancel", run: 99 });
    expect(sent).toEqual([]);
  });

  it("pauses after the first token and saves, between steps", async () => {
    const { loop, sequences, sent } = setUp();
    const command = run(counting(5), { saveTo: "state-a" });
    await loop.handle(command);
    expect(sent.map(({ kind }) => kind)).toEqual(["step", "saved"]);
    expect(sequences[0]?.calls).toEqual([5]);
    await loop.handle({ kind: "restore", call: 1, slot: 2, path: "state-a", tokens: 5 });
    expect(sent.at(-1)).toEqual({ kind: "done", call: 1, problem: null });
    expect(sequences[2]?.held).toEqual(counting(5));
  });

  it("does not save a run that ends with its first token", async () => {
    const { loop, sent } = setUp();
    await loop.handle(run(counting(5), { saveTo: "state-b", maxTokens: 1 }));
    expect(sent.map(({ kind }) => kind)).toEqual(["step"]);
  });

  it("imports while another sequence decodes", async () => {
    const { loop, sequences, sent } = setUp();
    sequences[1]!.held = [1, 2, 3];
    await loop.handle({ kind: "save", call: 1, slot: 1, path: "state-c" });
    let open: () => void = () => {};
    sequences[0]!.gate = new Promise((resolve) => {
      open = resolve;
    });
    const decoding = loop.handle(run([5], { maxTokens: 10 }));
    await expect.poll(() => sequences[0]?.calls.length).toBe(1);
    await loop.handle({ kind: "restore", call: 2, slot: 2, path: "state-c", tokens: 3 });
    open();
    await decoding;
    const done = sent.findIndex((message) => message.kind === "done" && message.call === 2);
    const stepsAfter = sent.slice(done).filter(({ kind }) => kind === "step");
    expect(stepsAfter).toHaveLength(9);
  });

  it("replaces the sequence after a failed load, and says what the library complained of", async () => {
    const { loop, sequences, sent, complain } = setUp();
    complain("n_stream mismatch");
    await loop.handle({ kind: "restore", call: 3, slot: 1, path: "none", tokens: 3 });
    expect(sent).toEqual([
      { kind: "done", call: 3, problem: "Failed to load state (n_stream mismatch)" },
    ]);
    expect(sequences[1]?.disposed).toBe(true);
    expect(sequences).toHaveLength(4);
  });

  it("refuses a state of another length", async () => {
    const { loop, sequences, sent } = setUp();
    sequences[0]!.held = [1, 2];
    await loop.handle({ kind: "save", call: 1, slot: 0, path: "state-d" });
    await loop.handle({ kind: "restore", call: 2, slot: 1, path: "state-d", tokens: 3 });
    expect(sent.at(-1)).toMatchObject({ call: 2, problem: "the state holds 2 tokens" });
  });

  it("fails only the run whose evaluation failed, and gives its slot a fresh sequence", async () => {
    const { loop, sequences, sent } = setUp();
    sequences[0]!.failure = new Error("Eval has failed");
    const [bad, good] = [run([1], { slot: 0 }), run([2], { slot: 1 })];
    await Promise.all([loop.handle(bad), loop.handle(good)]);
    expect(sent).toContainEqual({ kind: "failed", run: bad.run, problem: "Eval has failed" });
    expect(sequences[0]?.disposed).toBe(true);
    const outputs = sent.flatMap((message) => (message.kind === "step" ? message.outputs : []));
    expect(outputs.map((output) => output.run)).toEqual([good.run, good.run, good.run]);
  });

  it("fails a run whose slot does not hold the prefix, whose save fails, or that has no slot", async () => {
    const { loop, sequences, sent } = setUp();
    sequences[0]!.held = [9, 9];
    await loop.handle(run(counting(5), { kept: 2 }));
    await loop.handle(run(counting(5), { saveTo: "broken" }));
    await expect(loop.handle(run([1], { slot: 7 }))).rejects.toThrow(RangeError);
    const failed = sent.filter((message) => message.kind === "failed");
    expect(failed.map(({ problem }) => problem)).toEqual([
      "the slot holds 0 of 2 tokens",
      "cannot save",
    ]);
  });

  it("ends with `length` before the context is full", async () => {
    const { loop, steps, sequences } = setUp({ contextSize: 10 });
    await loop.handle(run(counting(7), { maxTokens: 50 }));
    expect(sequences[0]?.held).toHaveLength(9);
    expect(steps().at(-1)?.outputs[0]?.finish).toBe("length");
  });

  it("counts tokens that came with an import as output", async () => {
    const { loop, sequences, steps } = setUp();
    sequences[0]!.held = counting(6);
    const tokens = [...counting(6), 50];
    await loop.handle(run(tokens, { promptTokens: 6, kept: 6, maxTokens: 3 }));
    expect(steps().flatMap(({ outputs }) => outputs)).toHaveLength(2);
  });
});
