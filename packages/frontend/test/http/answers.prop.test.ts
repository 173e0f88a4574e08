import type { FrameEntry } from "@baton/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AnswerFrame } from "../../src/http/answer-json.ts";
import { type AnswerSink, StreamedAnswer, WholeAnswer } from "../../src/http/answers.ts";
import type { Endpoint } from "../../src/http/parse-body.ts";
import type { StreamWriter } from "../../src/http/stream-writer.ts";
import { RequestOutput } from "../../src/output/request-output.ts";
import { eventsOf } from "../support/api-rig.ts";
import { chatFrame, plainWish } from "../support/bodies.ts";
import { summary } from "../support/fake-port.ts";
import { endToken, fakeTextModel, tokensOf } from "../support/fake-text-model.ts";

interface Run {
  readonly endpoint: Endpoint;
  /** The output of each choice, a token a byte. */
  readonly outputs: readonly (readonly number[])[];
  readonly stop: readonly string[];
  readonly logprobs: boolean;
  readonly endsByToken: boolean;
  /** Whether the end is told behind the last token, and not with it. */
  readonly isEndApart: boolean;
  readonly echo: boolean;
  /** How many tokens come in each frame, and whether text is taken after it. */
  readonly frames: readonly (readonly [tokens: number, isTaken: boolean])[];
}

const pieces = fc.constantFrom(
  "a",
  "ab",
  "한글",
  "조합형",
  "👩‍👩‍👧‍👦",
  "🏳️‍🌈",
  "ภาษาไทย",
  "عربى",
  "\u202eשלום",
  "e\u0301",
  "\n",
  "\u0000",
  "</end>",
);
const text = fc.array(pieces, { maxLength: 8 }).map((all) => all.join(""));
const output = fc.oneof(
  { weight: 4, arbitrary: text.map(tokensOf) },
  { weight: 1, arbitrary: fc.array(fc.integer({ min: 4, max: 255 }), { maxLength: 20 }) },
);
const stop = fc.oneof(pieces, fc.constantFrom("b한", "글", "</", "👩", "ไ", "a\n"));
const run: fc.Arbitrary<Run> = fc.record({
  endpoint: fc.constantFrom("chat", "completions", "generate"),
  outputs: fc.array(output, { minLength: 1, maxLength: 3 }),
  stop: fc.array(stop, { maxLength: 3 }),
  logprobs: fc.boolean(),
  endsByToken: fc.boolean(),
  isEndApart: fc.boolean(),
  echo: fc.boolean(),
  frames: fc.array(fc.tuple(fc.integer({ min: 1, max: 7 }), fc.boolean()), { minLength: 1 }),
});

function frameOf({ echo, endpoint, outputs }: Run, stream: boolean): AnswerFrame {
  const isEcho = echo && endpoint === "completions";
  return {
    ...chatFrame,
    endpoint,
    choicesPerPrompt: outputs.length,
    wish: { ...plainWish, stream, echo: isEcho, includeUsage: true, continuousUsage: stream },
  };
}

/** Feeds the tokens in frames, and gives their text to a sink as it is taken. */
function play(one: Run, frames: Run["frames"], sink: AnswerSink): void {
  const { endpoint, endsByToken, logprobs, outputs, stop: stops } = one;
  const output = new RequestOutput(fakeTextModel, outputs.length, {
    stop: stops,
    stopTokenIds: [],
    logprobs,
    tokens: endpoint === "generate",
  });
  const prompt = { promptTokens: 7, text: "né👩 ", logprobs: null };
  sink.began(0, prompt);
  const take = () => {
    const deltas = output.take();
    if (deltas.length > 0) sink.output(deltas);
  };
  const rest = outputs.map((tokens) => [...tokens, ...(endsByToken ? [endToken] : [])]);
  const sent = outputs.map(() => 0);
  const ended = new Set<number>();
  for (let at = 0; ended.size < rest.length; at += 1) {
    const [size, isTaken] = frames[at % frames.length] ?? [1, true];
    rest.forEach((tokens, choice) => {
      const offset = sent[choice] ?? 0;
      if (ended.has(choice)) return;
      const some = tokens.slice(offset, offset + size);
      sent[choice] = offset + some.length;
      const isLast =
        offset + some.length === tokens.length && (some.length === 0 || !one.isEndApart);
      if (isLast) ended.add(choice);
      output.accept(entryOf(choice, offset, some, isLast, one));
    });
    if (isTaken) take();
  }
  take();
  sink.ended({
    kind: "completed",
    summaries: [{ ...summary, outputTokens: output.returnedTokens }],
  });
}

function entryOf(
  choice: number,
  offset: number,
  tokens: readonly number[],
  isLast: boolean,
  { endsByToken, logprobs }: Run,
): FrameEntry {
  const reason = endsByToken ? "stop" : "length";
  return {
    stream: 1,
    choice,
    offset,
    tokens,
    logprobs: logprobs
      ? tokens.map((_, at) => ({ chosen: -(offset + at) / 8, top: [[65, -1]] }))
      : null,
    end: isLast ? { reason, error: null, cachedTokens: 0 } : null,
  };
}

/** A choice as a client puts it together. */
interface Gathered {
  text: string;
  tokens: number[];
  /** As JSON, one for each token. */
  logprobs: string[];
  roles: number;
  reasons: string[];
}

interface JsonChoice {
  readonly index: number;
  readonly text?: string;
  readonly token_ids?: readonly number[];
  readonly message?: { readonly role: string; readonly content: string };
  readonly delta?: { readonly role?: string; readonly content?: string };
  readonly logprobs: Readonly<Record<string, readonly unknown[]>> | null;
  readonly finish_reason: string | null;
}

function gather(choices: readonly JsonChoice[], count: number): readonly Gathered[] {
  const all: Gathered[] = Array.from({ length: count }, () => ({
    text: "",
    tokens: [],
    logprobs: [],
    roles: 0,
    reasons: [],
  }));
  for (const choice of choices) {
    const one = all[choice.index];
    if (one === undefined) throw new Error(`there is no choice ${choice.index}`);
    one.text += choice.text ?? choice.message?.content ?? choice.delta?.content ?? "";
    one.tokens.push(...(choice.token_ids ?? []));
    one.logprobs.push(...rows(choice.logprobs));
    if ((choice.message?.role ?? choice.delta?.role) !== undefined) one.roles += 1;
    if (choice.finish_reason !== null) one.reasons.push(choice.finish_reason);
  }
  return all;
}

function rows(logprobs: JsonChoice["logprobs"]): readonly string[] {
  if (logprobs === null) return [];
  const { content, refusal, ...columns } = logprobs;
  if (content !== undefined) return content.map((entry) => JSON.stringify(entry));
  const lists = Object.values(columns);
  return (lists[0] ?? []).map((_, at) => JSON.stringify(lists.map((list) => list[at])));
}

interface Answer {
  readonly choices: readonly Gathered[];
  readonly usage: { readonly completion_tokens: number };
}

function whole(one: Run): Answer {
  let body = "";
  const sendJson = (json: string) => {
    body = json;
  };
  const reply = { sendJson, sendError: () => undefined };
  play(one, [[1_000, false]], new WholeAnswer(frameOf(one, false), one.outputs.length, reply));
  const { choices, usage } = JSON.parse(body);
  return { choices: gather(choices, one.outputs.length), usage };
}

function streamed(one: Run): Answer & { readonly lastUsage: number } {
  let text = "";
  const write = (more: string) => {
    text += more;
  };
  let isOpen = false;
  const writer = {
    get isOpen() {
      return isOpen;
    },
    open: (_headers: unknown, more: string) => {
      isOpen = true;
      write(more);
    },
    write,
    end: write,
  } as unknown as StreamWriter;
  const reply = { sendJson: () => undefined, sendError: () => undefined };
  play(one, one.frames, new StreamedAnswer(frameOf(one, true), { reply, writer, headers: {} }));
  const chunks = eventsOf(text)
    .slice(0, -1)
    .map(([, data]) => JSON.parse(data));
  const choices = chunks.flatMap((chunk) => chunk.choices as JsonChoice[]);
  return {
    choices: gather(choices, one.outputs.length),
    usage: chunks.at(-1).usage,
    lastUsage: chunks.at(-2).usage.completion_tokens,
  };
}

describe("an answer that is streamed", () => {
  it("is the answer in one piece, however its tokens come", () => {
    fc.assert(
      fc.property(run, (one) => {
        const { lastUsage, ...stream } = streamed(one);
        const answer = whole(one);

        expect(stream).toEqual(answer);
        expect(lastUsage).toBe(answer.usage.completion_tokens);
        for (const choice of stream.choices) {
          expect(choice.reasons).toHaveLength(1);
          expect(choice.roles).toBe(one.endpoint === "chat" ? 1 : 0);
          expect(choice.text.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
  });

  it("has each counted token's logprobs once, but for one that ends it unseen", () => {
    fc.assert(
      fc.property(run, (one) => {
        const { choices, usage } = streamed({ ...one, logprobs: true, echo: false });
        const rowsInAll = choices.reduce((sum, { logprobs }) => sum + logprobs.length, 0);
        const isShown = one.endpoint === "generate" || !one.endsByToken;
        const hidden = usage.completion_tokens - rowsInAll;

        if (isShown) expect(hidden).toBe(0);
        else expect(hidden).toBeLessThanOrEqual(one.outputs.length);
        for (const { tokens, logprobs } of choices) {
          if (one.endpoint === "generate") expect(logprobs).toHaveLength(tokens.length);
        }
      }),
      { numRuns: 300 },
    );
  });
});
