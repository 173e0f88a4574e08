import { type ModelCard, ServingError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import { type ModelDirectory, modelNotFound } from "../relay/model-directory.ts";
import type { TokenizeAsk, TokenizedPrompt, TokenizePort } from "../relay/tokenize-port.ts";
import { inSlices } from "./in-slices.ts";
import type { TextModel } from "./text-model.ts";
import type { TextModels } from "./text-models.ts";

/** What tokenizing stands on. */
export interface TokenizeServiceDeps {
  readonly clock: Clock;
  readonly directory: Pick<ModelDirectory, "all" | "find">;
  readonly textModels: TextModels;
}

// Not fatal and no byte order mark dropped: a token alone is often no whole character.
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
/** Tokens decoded between two looks at the clock. */
const decodeTokens = 2_048;

/** Tokenizes with the models of the requests, for clients who count or look. */
export class TokenizeService implements TokenizePort {
  readonly #deps: TokenizeServiceDeps;

  constructor(deps: TokenizeServiceDeps) {
    this.#deps = deps;
  }

  async tokenize({ model, prompt, special }: TokenizeAsk): Promise<TokenizedPrompt> {
    const { card, text } = await this.#textOf(model);
    const written =
      prompt.kind === "text"
        ? prompt.text
        : text.renderChat(prompt.messages, { opensTurn: prompt.opensTurn });
    const tokens = await text.encode(written, { special });
    return {
      tokens,
      contextLength: card.contextLength,
      textOf: (id) => lossy.decode(text.bytes(id)),
    };
  }

  async detokenize(model: string, tokens: readonly number[]): Promise<string> {
    const { text } = await this.#textOf(model);
    const stranger = tokens.findIndex((id) => id >= text.vocabularySize);
    if (stranger !== -1) {
      const problem = `tokens holds ${tokens[stranger]}; the model's vocabulary ends at ${text.vocabularySize - 1}`;
      throw new ServingError("invalid_request", { param: "tokens", problem });
    }
    const decoding = new Decoding(text, tokens);
    await inSlices(this.#deps.clock, decoding, decodeTokens);
    return decoding.text;
  }

  async #textOf(name: string): Promise<{ readonly card: ModelCard; readonly text: TextModel }> {
    const { directory, textModels } = this.#deps;
    const model = directory.find(name);
    if (model === undefined) throw modelNotFound(directory, name);
    if (model.card === null) throw new ServingError("not_ready", { why: "no_workers" });
    return { card: model.card, text: await textModels.get(name, model.card.tokenizerChecksum) };
  }
}

/** The decoding of many tokens, a piece at a time. */
class Decoding {
  text = "";
  readonly #model: TextModel;
  readonly #tokens: readonly number[];
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #at = 0;

  constructor(model: TextModel, tokens: readonly number[]) {
    this.#model = model;
    this.#tokens = tokens;
  }

  step(maxItems: number): boolean {
    const end = Math.min(this.#at + maxItems, this.#tokens.length);
    for (; this.#at < end; this.#at += 1) {
      const bytes = this.#model.bytes(this.#tokens[this.#at] ?? 0);
      this.text += this.#decoder.decode(bytes, { stream: true });
    }
    if (end < this.#tokens.length) return false;
    this.text += this.#decoder.decode();
    return true;
  }
}
