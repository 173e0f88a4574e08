import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { PrefixIndex } from "../../src/index.ts";

/** What happens to an index while a trace is served. */
export type TrafficStep =
  | { readonly kind: "find"; readonly hashes: Uint8Array }
  | {
      readonly kind: "store";
      readonly rank: number;
      readonly parent: Uint8Array | null;
      readonly hashes: Uint8Array;
    }
  | { readonly kind: "remove"; readonly rank: number; readonly hashes: Uint8Array };

/** The prompts of a Mooncake trace, `.jsonl` or `.jsonl.gz`: one id a block of 512 tokens. */
export function readPrompts(path: string): readonly (readonly number[])[] {
  const bytes = readFileSync(path);
  const text = (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { hash_ids: number[] }).hash_ids);
}

/**
 * Prompts as the Mooncake traces have them: conversations that begin with one of few system prompts, grow turn by turn, and
 * take turns with each other. `random` is in [0, 1).
 */
export function makePrompts(count: number, random: () => number): readonly (readonly number[])[] {
  const below = (limit: number) => Math.floor(random() * limit);
  let nextId = 100;
  const conversations: number[][] = [];
  return Array.from({ length: count }, () => {
    const goesOn = conversations.length > 0 && random() < 0.6;
    const at = goesOn ? below(conversations.length) : conversations.length;
    const system = below(3);
    const before =
      conversations[at] ?? Array.from({ length: 1 + 4 * system }, (_, id) => system * 20 + id);
    // The last block of a turn is not full, so that the next turn does not have it.
    const kept = goesOn && before.length > 10 ? before.slice(0, -1) : before;
    const prompt = [...kept, ...Array.from({ length: 1 + below(12) }, () => nextId++)];
    conversations[at] = prompt;
    return prompt;
  });
}

/** Spreads a whole number over 64 bits. */
export function hashOf(id: number): bigint {
  let mixed = BigInt.asUintN(64, BigInt(id + 1) * 0x9e3779b97f4a7c15n);
  mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n);
  mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
  return mixed ^ (mixed >> 31n);
}

/** The sequence hashes of a prompt, each id made `parts` blocks. */
export function hashesOf(ids: readonly number[], parts = 1): Uint8Array {
  const words = new BigUint64Array(ids.length * parts);
  for (let at = 0; at < words.length; at += 1) {
    words[at] = hashOf(ids[Math.floor(at / parts)]! * parts + (at % parts));
  }
  return new Uint8Array(words.buffer);
}

/** A worker's cache: the least recently used block goes first, and a prompt from its end. */
class WorkerCache {
  readonly #blocks = new Map<bigint, true>();

  has(block: bigint): boolean {
    return this.#blocks.has(block);
  }

  touch(blocks: BigUint64Array): void {
    for (let at = blocks.length - 1; at >= 0; at -= 1) {
      this.#blocks.delete(blocks[at]!);
      this.#blocks.set(blocks[at]!, true);
    }
  }

  shrinkTo(capacity: number): bigint[] {
    const gone: bigint[] = [];
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size - gone.length <= capacity) break;
      gone.push(block);
    }
    for (const block of gone) this.#blocks.delete(block);
    return gone;
  }
}

/**
 * Serves prompts on workers of `capacity` blocks each: a prompt goes where most of it is held, unless that worker has computed
 * so much more than the least busy one that it had better not.
 */
export function serve(
  prompts: readonly (readonly number[])[],
  { workers, capacity, parts }: { workers: number; capacity: number; parts: number },
): readonly TrafficStep[] {
  const caches = Array.from({ length: workers }, () => new WorkerCache());
  const computed = new Array<number>(workers).fill(0);
  const steps: TrafficStep[] = [];
  for (const ids of prompts) {
    const hashes = hashesOf(ids, parts);
    const words = new BigUint64Array(hashes.buffer);
    steps.push({ kind: "find", hashes });
    const lengths = caches.map((cache) => heldPrefix(cache, words));
    const worth = lengths.map((length, rank) => length - computed[rank]! / 2);
    const rank = worth.indexOf(Math.max(...worth));
    const held = lengths[rank]!;
    computed[rank]! += words.length - held;
    const cache = caches[rank]!;
    if (held < words.length) {
      const parent = held === 0 ? null : hashes.subarray(held * 8 - 8, held * 8);
      steps.push({ kind: "store", rank, parent, hashes: hashes.subarray(held * 8) });
    }
    cache.touch(words);
    const gone = cache.shrinkTo(capacity);
    if (gone.length > 0) {
      steps.push({
        kind: "remove",
        rank,
        hashes: new Uint8Array(BigUint64Array.from(gone).buffer),
      });
    }
  }
  return steps;
}

function heldPrefix(cache: WorkerCache, words: BigUint64Array): number {
  let held = 0;
  while (held < words.length && cache.has(words[held]!)) held += 1;
  return held;
}

/** Applies a step that changes an index. */
export function apply(index: PrefixIndex, step: Exclude<TrafficStep, { kind: "find" }>): void {
  if (step.kind === "store") index.store(step.rank, "device", step.parent, step.hashes);
  else index.remove(step.rank, "device", step.hashes);
}
