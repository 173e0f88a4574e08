import { describe, expect, it } from "vitest";
import { createGrammarState, grammarBindings } from "../../../src/engines/llama/grammar-state.ts";
import type {
  NativeLlama,
  NativeModel,
  NativeModule,
} from "../../../src/engines/llama/native-types.ts";

const accepted: unknown[] = [];
const bindings = {
  canBeNextTokenForGrammarEvaluationState: (state: unknown, token: number) =>
    state === "state of a text" && token === 5,
  acceptGrammarEvaluationStateToken: (state: unknown, token: number) => {
    accepted.push([state, token]);
  },
};
const native = {
  LlamaGrammarEvaluationState: class {
    readonly _state: string;
    constructor({ grammar }: { grammar: { text: string } }) {
      this._state = `state of ${grammar.text}`;
    }
  },
} as unknown as NativeModule;
const model = {} as NativeModel;

function llamaWith(AddonSampler: object | undefined): NativeLlama {
  return {
    _bindings: AddonSampler === undefined ? undefined : { AddonSampler },
    createGrammar: async ({ grammar }: { grammar: string }) => ({ text: grammar }),
  } as unknown as NativeLlama;
}

describe("grammarBindings", () => {
  it("finds the library's functions, all of them or none", () => {
    expect(grammarBindings(llamaWith(bindings))).toBe(bindings);
    const { canBeNextTokenForGrammarEvaluationState } = bindings;
    expect(grammarBindings(llamaWith({ canBeNextTokenForGrammarEvaluationState }))).toBeUndefined();
    expect(grammarBindings(llamaWith({}))).toBeUndefined();
    expect(grammarBindings(llamaWith(undefined))).toBeUndefined();
  });
});

describe("createGrammarState", () => {
  it("asks the library about its own state", async () => {
    const state = await createGrammarState(native, llamaWith(bindings), model, "a text");

    expect([state.accepts(5), state.accepts(6)]).toEqual([true, false]);
    state.accept(5);
    expect(accepted).toEqual([["state of a text", 5]]);
  });

  it("rejects where the library has no grammars", async () => {
    const state = createGrammarState(native, llamaWith({}), model, "a text");

    await expect(state).rejects.toThrow("no grammars");
  });
});
