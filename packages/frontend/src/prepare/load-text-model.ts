import { ServingError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import {
  type ChatTemplate,
  ChatTemplateError,
  parseChatTemplate,
  TemplateWarmUp,
  type Tokenizer,
  TokenizerArtifactDecoding,
  TokenizerBuild,
} from "@baton/text";
import type { ChatMessage } from "../request/serving-request.ts";
import { inSlices } from "./in-slices.ts";
import type { RenderChatOptions, TextModel, TokenDecoder } from "./text-model.ts";

/** Tokens and merges read between two looks at the clock, before the engine has compiled what reads them. */
const decodeItems = 10_000;
/** Tokens and merges entered between two looks at the clock. */
const buildItems = 500;
/** Words encoded between two looks at the clock while nothing is compiled yet. */
const warmUpWords = 64;
/** Words encoded between two looks at the clock. */
const encodeWords = 256;

/** How much memory one model's known beginnings of prompts may take: about three million tokens. */
const prefixBytes = 32 * 2 ** 20;

/** Makes a text model of an artifact's bytes. Rejects with a `ServingError` if they are not usable. */
export type LoadText = (clock: Clock, bytes: Uint8Array) => Promise<TextModel>;

/**
 * Makes a text model of an artifact's bytes, in slices, and warms it up: its first prompt takes no longer than its tenth.
 * Rejects with `engine_protocol` if they are not usable.
 */
export async function loadTextModel(clock: Clock, bytes: Uint8Array): Promise<TextModel> {
  try {
    const decoding = await atOnce(clock, () => new TokenizerArtifactDecoding(bytes));
    await inSlices(clock, decoding, decodeItems);
    const build = await atOnce(clock, () => new TokenizerBuild(decoding.finish(), { prefixBytes }));
    await inSlices(clock, build, buildItems);
    const tokenizer = await atOnce(clock, () => build.finish());
    const template = await atOnce(clock, () => chatTemplateOf(tokenizer));
    await inSlices(clock, tokenizer.warmUp(), warmUpWords);
    if (template !== null) await inSlices(clock, new TemplateWarmUp(template), 1);
    return textModelOf(clock, tokenizer, template);
  } catch (error) {
    throw new ServingError(
      "engine_protocol",
      { problem: `the model's tokenizer cannot be used: ${ServingError.from(error).message}` },
      { cause: error },
    );
  }
}

/** One piece of work of some milliseconds, in a slice of its own. */
async function atOnce<T>(clock: Clock, work: () => T): Promise<T> {
  const results: T[] = [];
  await inSlices(clock, { step: () => results.push(work()) > 0 }, 1);
  return results[0] as T;
}

/** The chat template of a tokenizer; null if it has none. Throws `ChatTemplateError`. */
export function chatTemplateOf(tokenizer: Tokenizer): ChatTemplate | null {
  const { chatTemplate, bosToken, eosToken } = tokenizer;
  return chatTemplate === null ? null : parseChatTemplate(chatTemplate, { bosToken, eosToken });
}

/** The text model of a tokenizer, which others may use too. */
export function textModelOf(
  clock: Clock,
  tokenizer: Tokenizer,
  template: ChatTemplate | null,
): TextModel {
  return new TokenizerTextModel(clock, tokenizer, template);
}

class TokenizerTextModel implements TextModel {
  readonly vocabularySize: number;
  readonly #clock: Clock;
  readonly #tokenizer: Tokenizer;
  readonly #template: ChatTemplate | null;

  constructor(clock: Clock, tokenizer: Tokenizer, template: ChatTemplate | null) {
    this.vocabularySize = tokenizer.vocabularySize;
    this.#clock = clock;
    this.#tokenizer = tokenizer;
    this.#template = template;
  }

  async encode(text: string, { special }: { readonly special: boolean }): Promise<Uint32Array> {
    const job = this.#tokenizer.encodeJob(text, { addSpecial: special });
    await inSlices(this.#clock, job, encodeWords);
    return job.ids();
  }

  renderChat(messages: readonly ChatMessage[], { opensTurn = true }: RenderChatOptions = {}) {
    if (this.#template === null) {
      const problem = "the model has no chat template; use /v1/completions";
      throw new ServingError("unsupported", { param: "messages", problem });
    }
    try {
      const plain = messages.map((message) => ({ ...message }));
      return this.#template.render(plain, {
        nowMs: this.#clock.nowMs(),
        addGenerationPrompt: opensTurn,
      });
    } catch (error) {
      if (!(error instanceof ChatTemplateError)) throw error;
      const problem = error.message;
      throw new ServingError("invalid_request", { param: "messages", problem }, { cause: error });
    }
  }

  decoder(): TokenDecoder {
    return this.#tokenizer.detokenizer();
  }

  bytes(id: number): Uint8Array {
    return this.#tokenizer.tokenBytes(id);
  }

  endsGeneration(id: number): boolean {
    return this.#tokenizer.endOfGenerationIds.has(id);
  }
}
