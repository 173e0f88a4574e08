/** Keeps one output to its grammar, token by token. */

import type { GrammarBindings, NativeLlama, NativeModel, NativeModule } from "./native-types.ts";

export interface GrammarState {
  /** Whether the output may go on with a token; for one that ends it, whether it may end. */
  accepts(token: number): boolean;
  /** The output goes on with a token that it may go on with. */
  accept(token: number): void;
}

/** The library's way to ask a grammar about single tokens; undefined in a version that has it no more. */
export function grammarBindings(llama: NativeLlama): GrammarBindings | undefined {
  const bindings = llama._bindings?.AddonSampler;
  const { canBeNextTokenForGrammarEvaluationState: mayFollow } = bindings ?? {};
  const { acceptGrammarEvaluationStateToken: follow } = bindings ?? {};
  if (typeof mayFollow !== "function" || typeof follow !== "function") return undefined;
  return bindings as GrammarBindings;
}

/** The state of an output that has not begun. Rejects for a text that is no grammar. */
export async function createGrammarState(
  native: NativeModule,
  llama: NativeLlama,
  model: NativeModel,
  grammarText: string,
): Promise<GrammarState> {
  const bindings = grammarBindings(llama);
  if (bindings === undefined) throw new Error("this version of the library has no grammars");
  const grammar = await llama.createGrammar({ grammar: grammarText });
  const { _state } = new native.LlamaGrammarEvaluationState({ model, grammar });
  return {
    accepts: (token) => bindings.canBeNextTokenForGrammarEvaluationState(_state, token),
    accept: (token) => bindings.acceptGrammarEvaluationStateToken(_state, token),
  };
}
