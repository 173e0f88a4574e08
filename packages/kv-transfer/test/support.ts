import { type KvHandoff, requestId, ServingError, workerId } from "@baton/protocol";
import { type Metrics, SeededRandom, type VirtualClock } from "@baton/runtime";
import {
  createKvTransferMetrics,
  type HandoffEnd,
  HandoffLedger,
  type HandoffLedgerOptions,
  type KvSource,
  type PartId,
} from "../src/index.ts";

/** Metrics whose values a test can read: `name{label=value}` to amount. */
export class ReadableMetrics implements Metrics {
  readonly #counts = new Map<string, number>();
  readonly #gauges = new Map<string, () => unknown>();

  counter(name: string) {
    return {
      add: (amount = 1, labels: Readonly<Record<string, string>> = {}) => {
        const key = keyOf(name, labels);
        this.#counts.set(key, (this.#counts.get(key) ?? 0) + amount);
      },
    };
  }

  histogram() {
    return { observe: () => undefined };
  }

  gauge(name: string, _help: string, read: () => unknown) {
    this.#gauges.set(name, read);
  }

  count(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.#counts.get(keyOf(name, labels)) ?? 0;
  }

  read(name: string): unknown {
    return this.#gauges.get(name)?.();
  }
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  return `${name}${JSON.stringify(Object.entries(labels).sort())}`;
}

/** One staging side with everything it is given, and a list of what it freed. */
export interface Desk {
  readonly clock: VirtualClock;
  readonly metrics: ReadableMetrics;
  readonly counters: ReturnType<typeof createKvTransferMetrics>;
  readonly ledger: HandoffLedger;
  readonly freed: (readonly [request: string, end: HandoffEnd])[];
}

export function createDesk(clock: VirtualClock, options: HandoffLedgerOptions = {}): Desk {
  const metrics = new ReadableMetrics();
  const counters = createKvTransferMetrics(metrics);
  const freed: (readonly [string, HandoffEnd])[] = [];
  const ledger = new HandoffLedger(options, {
    clock,
    random: new SeededRandom(7),
    metrics,
    counters,
    onFreed: (request, _handoff, end) => freed.push([request, end]),
  });
  return { clock, metrics, counters, ledger, freed };
}

export function handoffCount(desk: Desk, outcome: string): number {
  return desk.metrics.count("baton_kv_handoffs_total", { outcome });
}

export function refusedCount(desk: Desk, reason: string): number {
  return desk.metrics.count("baton_kv_pulls_refused_total", { reason });
}

/** A source of `sizes.length` blocks and perhaps a tail; byte i of block b is (b + i) mod 251. */
export function sourceOf(sizes: readonly number[], tailBytes = 0): KvSource & { bytes: number } {
  return {
    bytes: sizes.reduce((sum, size) => sum + size, 0) + tailBytes,
    read: (part: PartId) => {
      const size = part === "tail" ? tailBytes : sizes[part];
      if (size === undefined) {
        return Promise.reject(new ServingError("kv_transfer_failed", { problem: "gone" }));
      }
      return Promise.resolve(bytesOf(part, size));
    },
  };
}

export function bytesOf(part: PartId, size: number): Uint8Array {
  const first = part === "tail" ? 113 : part;
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i++) bytes[i] = (first + i) % 251;
  return bytes;
}

/** Stages a source under a request's name, reachable at `address`. */
export function stageOn(
  desk: Desk,
  address: string | null,
  source: KvSource,
  bytes: number,
  name = "r1",
): KvHandoff {
  return desk.ledger.stage(requestId(name), source, {
    prefillWorkerId: workerId("w-p"),
    prefillGeneration: 1,
    dpRank: 0,
    transport: "blocks",
    address,
    bytes,
    blocks: 1,
    descriptor: { engine: "mock" },
    firstTokens: [{ id: 5, logprobs: null }],
    promptTokens: 20,
    cachedTokens: 0,
    engineParams: null,
  });
}

/** Runs microtasks and one turn of the real event loop, so that sockets can speak. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Lets sockets speak until a condition holds. Fails after some thousand turns. */
export async function turnsUntil(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 20_000; i++) {
    if (condition()) return;
    await turn();
  }
  throw new Error("the condition never held");
}

/** What a promise rejects with; fails if it does not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<ServingError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof ServingError) return error;
    throw error;
  }
  throw new Error("it did not reject");
}
