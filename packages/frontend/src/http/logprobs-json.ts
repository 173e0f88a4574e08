import type { OutputLogprob, PromptLogprob, TextLogprob } from "../request/request-sink.ts";

/** The `logprobs` of a chat choice. */
export function chatLogprobs(logprobs: readonly OutputLogprob[]) {
  return {
    content: logprobs.map((entry) => ({
      ...textObject(entry),
      top_logprobs: entry.top.map(textObject),
    })),
    refusal: null,
  };
}

/** The `logprobs` of a text completion. A prompt token's may be unknown. */
export function completionLogprobs(logprobs: readonly PromptLogprob[]) {
  return {
    tokens: logprobs.map(({ token }) => token),
    token_logprobs: logprobs.map(({ logprob }) => finite(logprob)),
    top_logprobs: logprobs.map(byToken),
    text_offset: logprobs.map(({ textOffset }) => textOffset),
  };
}

/** The same tokens behind a text of this many code points. */
export function behind(
  logprobs: readonly OutputLogprob[],
  codePoints: number,
): readonly OutputLogprob[] {
  if (codePoints === 0) return logprobs;
  return logprobs.map((entry) => ({ ...entry, textOffset: entry.textOffset + codePoints }));
}

/** The `logprobs` of a choice that has no text: tokens are named by their ids. */
export function tokenLogprobs(logprobs: readonly OutputLogprob[]) {
  return {
    content: logprobs.map((entry) => ({
      ...idObject(entry),
      top_logprobs: entry.top.map(idObject),
    })),
  };
}

/** The `prompt_logprobs` of an answer: by token id, null where nothing is known. */
export function promptLogprobsArray(logprobs: readonly PromptLogprob[]) {
  return logprobs.map(({ id, logprob, token, top }) => {
    if (logprob === null) return null;
    const byId: Record<string, RankedLogprob> = {};
    // The token of the prompt is there also where it is not among the likeliest.
    byId[id] = { logprob: finite(logprob), rank: null, decoded_token: token };
    top.forEach((one, index) => {
      byId[one.id] = { logprob: finite(one.logprob), rank: index + 1, decoded_token: one.token };
    });
    return byId;
  });
}

interface RankedLogprob {
  readonly logprob: number;
  /** 1 is the likeliest; null if it is not known. */
  readonly rank: number | null;
  readonly decoded_token: string;
}

/** The likeliest tokens and the token itself. Of several with one text the likeliest counts. */
function byToken({ token, logprob, top }: PromptLogprob) {
  if (logprob === null) return null;
  const entries = top.map((one) => [one.token, finite(one.logprob)] as const).reverse();
  return Object.fromEntries([...entries, [token, finite(logprob)]]);
}

function textObject({ token, logprob, bytes }: TextLogprob) {
  return { token, logprob: finite(logprob), bytes };
}

function idObject({ id, logprob, bytes }: TextLogprob) {
  return { token: `token_id:${id}`, logprob: finite(logprob), bytes };
}

/** JSON has no infinity; OpenAI writes this figure for what is as good as impossible. */
const leastLogprob = -9999;

function finite<T extends number | null>(logprob: T): T | number {
  return logprob === null || Number.isFinite(logprob) ? logprob : leastLogprob;
}
