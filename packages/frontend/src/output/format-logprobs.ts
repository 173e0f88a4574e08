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

/** One position's log-probabilities with their tokens as text. */
export function formatLogprobs(
  model: Pick<TextModel, "bytes">,
  { id, textOffset }: PlacedToken,
  logprobs: TokenLogprobs,
): OutputLogprob {
  return { ...textLogprob(model, id, logprobs.chosen), top: topOf(model, logprobs), textOffset };
}

/** The same for a token of a prompt, of which there may be none. */
export function formatPromptLogprobs(
  model: Pick<TextModel, "bytes">,
  token: PlacedToken,
  logprobs: TokenLogprobs | null,
): PromptLogprob {
  if (logprobs !== null) return formatLogprobs(model, token, logprobs);
  const { id, textOffset } = token;
  return { ...textLogprob(model, id, 0), logprob: null, top: [], textOffset };
}

/** How many code points a text has; half a surrogate pair is one. */
export function codePointCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count += 1;
  return count;
}

function topOf(model: Pick<TextModel, "bytes">, { top }: TokenLogprobs): readonly TextLogprob[] {
  return top.map(([id, logprob]) => textLogprob(model, id, logprob));
}

function textLogprob(model: Pick<TextModel, "bytes">, id: number, logprob: number): TextLogprob {
  const bytes = model.bytes(id);
  return { id, token: lossy.decode(bytes), logprob, bytes: [...bytes] };
}
