import type { TokenLogprobs } from "@baton/protocol";
import type { TextModel } from "../prepare/text-model.ts";
import type { OutputLogprob, PromptLogprob, TextLogprob } from "../request/request-sink.ts";

// Not fatal and no byte order mark dropped: a token alone is often no whole character.
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });

/** One token of which the logprobs are shown, and where its text begins. */
export interface PlacedToken {
  readonly id: number;
  /** Code points of the text before it. */
  readonly textOffset: number;
}

/** Tokens as text and bytes. */
export interface TokenForms {
  formOf(id: number): Pick<TextLogprob, "token" | "bytes">;
}

/** The forms of a model's tokens, made anew each time. */
export function tokenForms(model: Pick<TextModel, "bytes">): TokenForms {
  return {
    formOf: (id) => {
      const bytes = model.bytes(id);
      return { token: lossy.decode(bytes), bytes: [...bytes] };
    },
  };
}

/** The forms of tokens of which many come again. */
export class KnownTokens implements TokenForms {
  readonly #forms: TokenForms;
  readonly #known = new Map<number, Pick<TextLogprob, "token" | "bytes">>();

  constructor(model: Pick<TextModel, "bytes">) {
    this.#forms = tokenForms(model);
  }

  formOf(id: number): Pick<TextLogprob, "token" | "bytes"> {
    let form = this.#known.get(id);
    if (form === undefined) {
      form = this.#forms.formOf(id);
      this.#known.set(id, form);
    }
    return form;
  }
}

/** One position's log-probabilities with their tokens as text. */
export function formatLogprobs(
  forms: TokenForms,
  { id, textOffset }: PlacedToken,
  logprobs: TokenLogprobs,
): OutputLogprob {
  const { token, bytes } = forms.formOf(id);
  return { id, token, logprob: logprobs.chosen, bytes, top: topOf(forms, logprobs), textOffset };
}

/** The same for a token of a prompt, of which there may be none. */
export function formatPromptLogprobs(
  forms: TokenForms,
  placed: PlacedToken,
  logprobs: TokenLogprobs | null,
): PromptLogprob {
  if (logprobs !== null) return formatLogprobs(forms, placed, logprobs);
  const { token, bytes } = forms.formOf(placed.id);
  return { ...placed, token, bytes, logprob: null, top: [] };
}

/** How many code points a text has; half a surrogate pair is one. */
export function codePointCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count += 1;
  return count;
}

function topOf(forms: TokenForms, { top }: TokenLogprobs): readonly TextLogprob[] {
  return top.map(([id, logprob]) => {
    const { token, bytes } = forms.formOf(id);
    return { id, token, logprob, bytes };
  });
}
