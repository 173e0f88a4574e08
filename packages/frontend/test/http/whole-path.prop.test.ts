import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { FrameEntry } from "@baton/protocol";
import { RealClock } from "@baton/runtime";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RequestOutput } from "../../src/output/request-output.ts";
import { loadTextModel } from "../../src/prepare/load-text-model.ts";
import type { TextModel } from "../../src/prepare/text-model.ts";
import type { RequestSink } from "../../src/request/request-sink.ts";
import type { ServingRequest } from "../../src/request/serving-request.ts";
import { ApiRig, eventsOf } from "../support/api-rig.ts";
import { summary } from "../support/fake-port.ts";

/** What an engine generates, and how it comes. */
interface Run {
  /** Texts, each as the tokenizer's tokens or byte by byte. */
  readonly parts: readonly (readonly [text: string, isByBytes: boolean])[];
  /** Ids of whatever tokens behind them. */
  readonly strays: readonly number[];
  readonly stop: readonly string[];
  readonly frames: readonly (readonly [tokens: number, isTaken: boolean])[];
}

const pieces = fc.constantFrom(
  "relay ",
  "한글",
  "\u1112\u1161\u11ab",
  "👩‍👩‍👧‍👦",
  "🏳️‍🌈",
  "ภาษาไทย",
  "عربى",
  "\u202eשלום",
  "e\u0301",
  "\ufeff",
  "\ufffd",
  "\n\n",
  "\u0000",
  "</end>",
  "12",
  "\ud83d",
);
const text = fc.array(pieces, { maxLength: 5 }).map((all) => all.join(""));
/** Parts of what may be generated, cut between characters. */
const stop = fc
  .tuple(text, fc.nat(12), fc.integer({ min: 1, max: 6 }))
  .map(([whole, from, length]) => [...whole.toWellFormed()].slice(from, from + length).join(""))
  .filter((found) => found !== "");
const run: fc.Arbitrary<Run> = fc.record({
  parts: fc.array(fc.tuple(text, fc.boolean()), { minLength: 1, maxLength: 5 }),
  strays: fc.array(fc.nat(49_151), { maxLength: 4 }),
  stop: fc.array(stop, { maxLength: 4 }),
  frames: fc.array(fc.tuple(fc.integer({ min: 1, max: 7 }), fc.boolean()), { minLength: 1 }),
});

interface ChatAnswer {
  readonly choices: readonly [
    {
      readonly message: { readonly content: string };
      readonly finish_reason: string;
      readonly logprobs: { readonly content: unknown };
    },
  ];
  readonly usage: { readonly completion_tokens: number };
}

/** What the definition says of an output: the stop that is complete first, of several the longest. */
function define(stops: readonly string[], whole: string): { text: string; isStopped: boolean } {
  for (let end = 1; end <= whole.length; end += 1) {
    const [found] = stops
      .filter((one) => whole.slice(0, end).endsWith(one))
      .toSorted((left, right) => right.length - left.length);
    if (found !== undefined) return { text: whole.slice(0, end - found.length), isStopped: true };
  }
  return { text: whole, isStopped: false };
}

describe("what an engine generates, on its whole way to a client", () => {
  const rig = new ApiRig();
  let model: TextModel;
  const byteIds = new Map<number, number>();
  let next: readonly number[] = [];
  let frames: Run["frames"] = [];

  beforeAll(async () => {
    const asset = createRequire(import.meta.url).resolve(
      "@baton/text/assets/default-tokenizer.bin",
    );
    model = await loadTextModel(new RealClock(), await readFile(asset));
    for (let id = model.vocabularySize - 1; id >= 0; id -= 1) {
      const [byte, ...more] = model.bytes(id);
      if (byte !== undefined && more.length === 0) byteIds.set(byte, id);
    }
    rig.port.onSubmit = (sink, request) => play(sink, request);
    await rig.start();
  });
  afterAll(() => rig.server.stop());

  async function tokensOf({ parts, strays }: Run): Promise<readonly number[]> {
    const ids: number[] = [];
    for (const [part, isByBytes] of parts) {
      if (!isByBytes) ids.push(...(await model.encode(part, { special: false })));
      else for (const byte of new TextEncoder().encode(part)) ids.push(byteIds.get(byte) ?? 0);
    }
    return [...ids, ...strays].filter((id) => !model.endsGeneration(id) && isText(id));
  }

  /** Tokens that mark structure have no text. */
  function isText(id: number): boolean {
    const decoder = model.decoder();
    return decoder.push(id) + decoder.flush() !== "";
  }

  /** Feeds the tokens in frames, and gives their text to the sink as it is taken. */
  function play(sink: RequestSink, { output, stop: stops }: ServingRequest): void {
    const choice = new RequestOutput(model, 1, {
      stop: stops,
      stopTokenIds: [],
      logprobs: output.logprobs !== undefined,
      tokens: false,
    });
    sink.began?.({ promptTokens: 7, text: null, logprobs: null });
    const take = () => {
      const deltas = choice.take();
      if (deltas.length > 0) sink.output(deltas);
    };
    let offset = 0;
    for (let at = 0; offset < next.length; at += 1) {
      const [size, isTaken] = frames[at % frames.length] ?? [1, true];
      choice.accept(entryOf(next.slice(offset, offset + size), offset));
      offset += size;
      if (isTaken) take();
    }
    const end = { reason: "length", error: null, cachedTokens: 0 } as const;
    choice.accept({ ...entryOf([], next.length), end });
    take();
    sink.ended({ kind: "completed", summary: { ...summary, outputTokens: choice.returnedTokens } });
  }

  function entryOf(tokens: readonly number[], offset: number): FrameEntry {
    const logprobs = tokens.map((_, at) => ({ chosen: -1 - offset - at, top: [] }));
    return { stream: 1, choice: 0, offset, tokens, logprobs, end: null };
  }

  /** Text, reason and counted tokens as they must be. */
  function expected(stops: readonly string[]) {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    let whole = "";
    for (const [at, id] of next.entries()) {
      whole += decoder.decode(model.bytes(id), { stream: true });
      const found = define(stops, whole);
      if (found.isStopped) return { text: found.text, reason: "stop", tokens: at + 1 };
    }
    const { isStopped, text: last } = define(stops, whole + decoder.decode());
    return { text: last, reason: isStopped ? "stop" : "length", tokens: next.length };
  }

  it("is streamed and sent whole as the definition says, each token's logprobs once", async () => {
    await fc.assert(
      fc.asyncProperty(run, async (one) => {
        next = await tokensOf(one);
        const body = { stop: [...one.stop], logprobs: true, max_tokens: 500 };
        frames = [[1_000, false]];
        const whole = (await (await rig.chat(body)).json()) as ChatAnswer;
        frames = one.frames;
        const stream = await rig.chat({
          ...body,
          stream: true,
          stream_options: { include_usage: true },
        });
        const chunks = eventsOf(await stream.text())
          .slice(0, -1)
          .map(([, data]) => JSON.parse(data));
        const deltas = chunks.flatMap(({ choices }) => choices);
        const must = expected(one.stop);
        const counted = next.slice(0, must.tokens);

        const [answer] = whole.choices;
        expect(answer.message.content).toBe(must.text);
        expect(deltas.map(({ delta }) => delta.content ?? "").join("")).toBe(must.text);
        expect(answer.finish_reason).toBe(must.reason);
        expect(deltas.at(-1).finish_reason).toBe(must.reason);
        const rows = deltas.flatMap(({ logprobs }) => logprobs?.content ?? []);
        expect(rows).toEqual(answer.logprobs.content);
        expect(rows.map(({ bytes, logprob }) => [bytes, -logprob])).toEqual(
          counted.map((id, at) => [[...model.bytes(id)], at + 1]),
        );
        expect(whole.usage.completion_tokens).toBe(must.tokens);
        expect(chunks.at(-1).usage).toEqual(whole.usage);
      }),
      { numRuns: 150 },
    );
  });
});
