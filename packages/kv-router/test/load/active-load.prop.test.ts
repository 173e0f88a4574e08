import type { BookingId } from "@baton/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ActiveRequest, createActiveLoad, defaultLoadTracking } from "../../src/index.ts";
import { fullWeight } from "../../src/load/active-blocks.ts";
import { hashesOf } from "../core/core-support.ts";
import { booking } from "../support.ts";

const names = ["a", "b", "c", "d", "e", "f", "g", "h"].map(booking);
const ranks = [0, 1, 2, 33, 70];
const blockSize = 4;
// Two letters, so that prompts often begin alike.
const prompt = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 9 });

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("add" as const),
        bookingId: fc.constantFrom(...names),
        rank: fc.constantFrom(...ranks),
        text: prompt,
        isByNumber: fc.boolean(),
        prefillTokens: fc.integer({ min: 0, max: 50 }),
        prefillMs: fc.constantFrom(null, null, 7, 40),
        tail: fc.integer({ min: 0, max: blockSize - 1 }),
        expectedOutputTokens: fc.constantFrom(null, 0, 3, 16),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("prefilled" as const),
        bookingId: fc.constantFrom(...names),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("produced" as const),
        bookingId: fc.constantFrom(...names),
        outputTokens: fc.integer({ min: 0, max: 20 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("remove" as const),
        bookingId: fc.constantFrom(...names),
      }),
    },
  ),
  { maxLength: 60 },
);

type Step = ReturnType<typeof steps.generate>["value"][number];
type Add = Extract<Step, { do: "add" }>;

/** The same figures from plain maps and sets, found anew each time. */
class PlainLoad {
  readonly running = new Map<BookingId, Add & { produced: number }>();
  /** By rank, in order, what is to be computed. */
  readonly prefills = new Map<number, Map<BookingId, Add>>();
  readonly anchoredMs = new Map<number, number>();
  readonly tracking: typeof defaultLoadTracking;

  constructor(tracking: typeof defaultLoadTracking) {
    this.tracking = tracking;
  }

  apply(step: Step, nowMs: number): void {
    const known = this.running.get(step.bookingId);
    if (step.do === "add") this.#add(step, nowMs);
    else if (known === undefined) return;
    else if (step.do === "produced") known.produced = Math.max(known.produced, step.outputTokens);
    else this.#complete(known, nowMs);
    if (step.do === "remove") this.running.delete(step.bookingId);
  }

  blocksOf(rank: number): number {
    const own = [...this.running.values()].filter((request) => request.rank === rank);
    const sharers = new Map<string, number>();
    for (const request of own) {
      for (const prefix of this.#prefixesOf(request)) {
        sharers.set(prefix, (sharers.get(prefix) ?? 0) + 1);
      }
    }
    let weight = 0;
    for (const request of own) weight += this.#ownWeight(request, sharers);
    for (const count of sharers.values()) if (count > 1) weight += fullWeight;
    return Math.round(weight / fullWeight);
  }

  overlapOf(rank: number, text: string): number {
    const active = new Set(
      [...this.running.values()]
        .filter((request) => request.rank === rank)
        .flatMap((request) => this.#prefixesOf(request)),
    );
    let blocks = 0;
    while (blocks < text.length && active.has(text.slice(0, blocks + 1))) blocks += 1;
    return blocks;
  }

  prefillTokensOf(rank: number, nowMs: number): number {
    const prefills = [...(this.prefills.get(rank)?.values() ?? [])];
    const sum = prefills.reduce((total, { prefillTokens }) => total + prefillTokens, 0);
    const anchor = prefills[0];
    if (anchor === undefined || anchor.prefillMs === null) return sum;
    const elapsed = nowMs - (this.anchoredMs.get(rank) ?? 0);
    if (prefills.every(({ prefillMs }) => prefillMs !== null)) {
      return Math.max(0, sum - Math.floor((anchor.prefillTokens * elapsed) / anchor.prefillMs));
    }
    const left = Math.ceil(anchor.prefillTokens * (1 - elapsed / anchor.prefillMs));
    return sum - anchor.prefillTokens + Math.max(0, left);
  }

  #add(step: Add, nowMs: number): void {
    if (this.running.has(step.bookingId)) return;
    this.running.set(step.bookingId, { ...step, produced: 0 });
    if (step.prefillTokens === 0 || !this.tracking.trackPrefillTokens) return;
    const prefills = this.prefills.get(step.rank) ?? new Map<BookingId, Add>();
    this.prefills.set(step.rank, prefills);
    if (prefills.size === 0) this.anchoredMs.set(step.rank, nowMs);
    prefills.set(step.bookingId, step);
  }

  #complete({ bookingId, rank }: Add, nowMs: number): void {
    const prefills = this.prefills.get(rank);
    const prefill = prefills?.get(bookingId);
    if (prefills === undefined || prefill === undefined) return;
    const isAnchor = [...prefills.keys()][0] === bookingId;
    prefills.delete(bookingId);
    const anchoredMs = this.anchoredMs.get(rank) ?? 0;
    if (isAnchor) this.anchoredMs.set(rank, nowMs);
    else this.anchoredMs.set(rank, Math.min(nowMs, anchoredMs + (prefill.prefillMs ?? 0)));
  }

  /** Each block that is known by its hash, as the text up to its end. */
  #prefixesOf({ text, isByNumber }: Add): string[] {
    const { trackActiveBlocks, assumeKvReuse } = this.tracking;
    if (isByNumber || !trackActiveBlocks || !assumeKvReuse) return [];
    return [...text].map((_, index) => text.slice(0, index + 1));
  }

  #ownWeight(request: Add & { produced: number }, sharers: ReadonlyMap<string, number>): number {
    const { text, tail, produced, expectedOutputTokens } = request;
    const { trackActiveBlocks, trackOutputBlocks } = this.tracking;
    if (!trackActiveBlocks) return 0;
    const prefixes = this.#prefixesOf(request);
    const promptTokens = text.length * blockSize + tail;
    const opened = Math.ceil((promptTokens + produced) / blockSize);
    const outputs = trackOutputBlocks ? opened - Math.ceil(promptTokens / blockSize) : 0;
    const alone =
      prefixes.length === 0
        ? text.length
        : prefixes.filter((prefix) => sharers.get(prefix) === 1).length;
    const left =
      expectedOutputTokens === null || !trackOutputBlocks
        ? 1
        : Math.max(0, 1 - produced / Math.max(expectedOutputTokens, 1));
    return (alone + outputs) * Math.round(left * fullWeight);
  }
}

function requestOf(step: Add, atMs: number): ActiveRequest {
  const { bookingId, rank, text, isByNumber, prefillTokens, prefillMs, tail } = step;
  return {
    bookingId,
    rank,
    sequenceHashes: isByNumber ? new Uint8Array() : hashesOf(text),
    blocks: text.length,
    prefillTokens,
    prefillMs,
    promptTokens: text.length * blockSize + tail,
    blockSize,
    expectedOutputTokens: step.expectedOutputTokens,
    atMs,
  };
}

describe.each([
  ["by default", {}],
  ["with output blocks", { trackOutputBlocks: true }],
  ["without reuse", { assumeKvReuse: false, trackOutputBlocks: true }],
  ["without blocks", { trackActiveBlocks: false }],
  ["without prefill tokens", { trackPrefillTokens: false }],
])("%s", (_, options) => {
  it("has the figures of plain maps, whatever comes and goes", () => {
    const tracking = { ...defaultLoadTracking, ...options };
    fc.assert(
      fc.property(steps, prompt, (taken, asked) => {
        const load = createActiveLoad(tracking);
        const plain = new PlainLoad(tracking);
        taken.forEach((step, index) => {
          const nowMs = index * 5;
          if (step.do === "add") load.add(requestOf(step, nowMs));
          else if (step.do === "prefilled") load.prefillCompleted(step.bookingId, nowMs);
          else if (step.do === "produced") load.produced(step.bookingId, step.outputTokens);
          else load.remove(step.bookingId, nowMs);
          plain.apply(step, nowMs);
          const active = load.findActive(hashesOf(asked));
          for (const rank of ranks) {
            expect({
              rank,
              blocks: load.activeBlocksOf(rank),
              tokens: load.activePrefillTokensOf(rank, nowMs + 3),
              overlap: active[rank] ?? 0,
            }).toEqual({
              rank,
              blocks: plain.blocksOf(rank),
              tokens: plain.prefillTokensOf(rank, nowMs + 3),
              overlap: plain.overlapOf(rank, asked),
            });
          }
          expect(load.size).toBe(plain.running.size);
        });
      }),
      { numRuns: 120 },
    );
  });
});

it("holds nothing when all have left", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const load = createActiveLoad({ ...defaultLoadTracking, trackOutputBlocks: true });
      for (const step of taken) {
        if (step.do === "add") load.add(requestOf(step, 0));
        if (step.do === "produced") load.produced(step.bookingId, step.outputTokens);
      }
      for (const name of names) load.remove(name, 1);
      const left = ranks.map((rank) => [
        load.requestsOf(rank),
        load.activeBlocksOf(rank),
        load.activePrefillTokensOf(rank, 1),
      ]);
      expect([load.size, load.blocks, ...left.flat()].every((figure) => figure === 0)).toBe(true);
    }),
  );
});
