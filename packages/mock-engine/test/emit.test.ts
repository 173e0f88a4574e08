import { describe, expect, it } from "vitest";
import { emitFirstTokens, emitNext, emitToken } from "../src/emit.ts";
import { type EngineRequest, noToken, type StepOutputs as Outputs } from "../src/index.ts";
import { Sequence } from "../src/sequence.ts";
import { StepOutputs } from "../src/step-outputs.ts";
import { planFrom, planOf, requestOf } from "./support/builders.ts";
import { groupOf } from "./support/sequences.ts";

const unlimited = Number.POSITIVE_INFINITY;

function sequenceOf(request: EngineRequest): Sequence<EngineRequest> {
  return new Sequence(groupOf(request, "generate"), 0, "waiting");
}

function rowsOf(outputs: Outputs<EngineRequest>): unknown[][] {
  return Array.from({ length: outputs.count }, (_, i) => [
    outputs.choices[i],
    outputs.positions[i],
    outputs.tokens[i],
    outputs.finishes[i],
  ]);
}

describe("emitNext", () => {
  it("appends the plan's tokens until the rules end them", () => {
    const sequence = sequenceOf(requestOf({ rules: { maxTokens: 2 } }));
    const outputs = new StepOutputs<EngineRequest>();

    const ends = [emitNext(sequence, outputs, unlimited), emitNext(sequence, outputs, unlimited)];

    expect(ends).toEqual([false, true]);
    expect(rowsOf(outputs)).toEqual([
      [0, 0, 1000, undefined],
      [0, 1, 1001, "length"],
    ]);
    expect([sequence.known, sequence.tokens[11]]).toEqual([12, 1001]);
  });

  it("ends at the length limit of prompt and output together", () => {
    const outputs = new StepOutputs<EngineRequest>();
    const sequence = sequenceOf(requestOf({ rules: { maxTokens: 9 } }));

    expect(emitNext(sequence, outputs, 11)).toBe(true);
    expect(outputs.finishes[0]).toBe("length");
  });

  it("ends without a token where the plan has none", () => {
    const outputs = new StepOutputs<EngineRequest>();
    const sequence = sequenceOf(requestOf({ plans: [planOf()] }));

    expect(emitNext(sequence, outputs, unlimited)).toBe(true);
    expect(rowsOf(outputs)).toEqual([[0, 0, noToken, "eos"]]);
    expect(sequence.known).toBe(10);
  });
});

describe("emitToken", () => {
  it("takes the token that it is given, whatever the plan says", () => {
    const outputs = new StepOutputs<EngineRequest>();
    const sequence = sequenceOf(requestOf());

    expect(emitToken(sequence, 77, outputs, unlimited)).toBe(false);
    expect(sequence.tokens[10]).toBe(77);
  });
});

describe("emitFirstTokens", () => {
  it("samples each choice that is wanted and leaves the prompt as it is", () => {
    const plans = [planFrom(1), planFrom(2), planFrom(3), planOf()];
    const sequence = sequenceOf(requestOf({ plans, rules: { stopTokenIds: new Set([3]) } }));
    sequence.group.cancelledChoices = new Set([1]);
    const outputs = new StepOutputs<EngineRequest>();

    expect(emitFirstTokens(sequence, outputs, unlimited)).toBe(1);

    expect(rowsOf(outputs)).toEqual([
      [0, 0, 1, undefined],
      [2, 0, 3, "stop"],
      [3, 0, noToken, "eos"],
    ]);
    expect([sequence.known, sequence.generated]).toEqual([10, 0]);
  });

  it("goes on with no choice whose first token reaches the length limit", () => {
    const outputs = new StepOutputs<EngineRequest>();
    expect(emitFirstTokens(sequenceOf(requestOf()), outputs, 11)).toBe(0);
  });
});
