import type { KvEvent, KvTier } from "@baton/protocol";
import { partOfRun } from "./kv-dump-pages.ts";

const hashBytes = 8;

/**
 * How often one rank holds each block on each tier, for an engine that may store a block that it holds. What passes is one
 * `stored` for the first reference and one `removed` for the last. As many entries as the rank holds blocks.
 */
export class BlockReferences {
  readonly #tiers = new Map<KvTier, Map<bigint, number>>();

  /** Blocks that are held, over all tiers. */
  get size(): number {
    let total = 0;
    for (const held of this.#tiers.values()) total += held.size;
    return total;
  }

  /** The events that say something new, blocks that are not new left out. */
  filter(events: readonly KvEvent[]): readonly KvEvent[] {
    return events.flatMap((event) => this.#pass(event));
  }

  #pass(event: KvEvent): readonly KvEvent[] {
    if (event.kind === "cleared") {
      this.#tiers.clear();
      return [event];
    }
    const held = this.#heldOn(event.tier ?? "device");
    if (event.kind === "stored") return newRuns(event, held);
    const sequenceHashes = lastReferences(event.sequenceHashes, held);
    return sequenceHashes.byteLength === 0 ? [] : [{ ...event, sequenceHashes }];
  }

  #heldOn(tier: KvTier): Map<bigint, number> {
    const known = this.#tiers.get(tier);
    if (known !== undefined) return known;
    const held = new Map<bigint, number>();
    this.#tiers.set(tier, held);
    return held;
  }
}

/** Counts a run, and gives the parts of it that were not held. */
function newRuns(
  run: Extract<KvEvent, { kind: "stored" }>,
  held: Map<bigint, number>,
): readonly KvEvent[] {
  const keys = keysOf(run.sequenceHashes);
  const runs: KvEvent[] = [];
  let from = 0;
  keys.forEach((key, at) => {
    const references = held.get(key) ?? 0;
    held.set(key, references + 1);
    if (references === 0) return;
    if (from < at) runs.push(partOfRun(run, from, at));
    from = at + 1;
  });
  if (from < keys.length) runs.push(partOfRun(run, from, keys.length));
  return runs;
}

/** Counts down, and gives the hashes that nobody holds any more. One that was not held is nothing new. */
function lastReferences(hashes: Uint8Array, held: Map<bigint, number>): Uint8Array {
  const gone = new Uint8Array(hashes.byteLength);
  let length = 0;
  keysOf(hashes).forEach((key, at) => {
    const references = held.get(key);
    if (references === undefined) return;
    if (references > 1) {
      held.set(key, references - 1);
      return;
    }
    held.delete(key);
    gone.set(hashes.subarray(at * hashBytes, (at + 1) * hashBytes), length);
    length += hashBytes;
  });
  return gone.subarray(0, length);
}

function keysOf(hashes: Uint8Array): readonly bigint[] {
  const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.byteLength);
  const count = Math.floor(hashes.byteLength / hashBytes);
  return Array.from({ length: count }, (_, at) => view.getBigUint64(at * hashBytes, true));
}
