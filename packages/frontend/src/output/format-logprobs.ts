import type { TokenLogprobs } from "@baton/protocol";
import type { TextModel } from "../prepare/text-model.ts";
import type { OutputLogprob, TextLogprob } from "../request/request-sink.ts";

// Not fatal and no byte order mark dropped: a token alone is often no whole character.
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });

/** One position's log-probabilities with their tokens as text. */
export function formatLogprobs(
  model: Pick<TextModel, "bytes">,
  id: number,
  logprobs: TokenLogprobs,
): OutputLogprob {
  return {
    ...textLogprob(model, id, logprobs.chosen),
    top: logprobs.top.map(([top, logprob]) => textLogprob(model, top, logprob)),
  };
}

function textLogprob(model: Pick<TextModel, "bytes">, id: number, logprob: number): TextLogprob {
  const bytes = model.bytes(id);
  return { token: lossy.decode(bytes), logprob, bytes: [...bytes] };
}
