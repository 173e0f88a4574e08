import type { KvEvent, KvTier } from "@baton/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BlockReferences } from "../src/block-references.ts";

const tier = fc.constantFrom<KvTier>("device", "host", "disk");
const blocks = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 });
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("stored" as const), tier, blocks }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("removed" as const), tier, blocks }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cleared" as const), tier, blocks }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function eventOf({ kind, tier: on, blocks: ids }: Step): KvEvent {
  const sequenceHashes = new Uint8Array(ids.flatMap((id) => [id, 0, 0, 0, 0, 0, 0, 0]));
  if (kind === "cleared") return { kind };
  const named = on === "device" ? {} : { tier: on };
  if (kind === "removed") return { kind, sequenceHashes, ...named };
  return { kind, parent: null, blockHashes: sequenceHashes, sequenceHashes, ...named };
}

const keysOf = (event: Exclude<KvEvent, { kind: "cleared" }>) =>
  Array.from(
    { length: event.sequenceHashes.byteLength / 8 },
    (_, at) => `${event.tier ?? "device"} ${event.sequenceHashes[8 * at]}`,
  );

describe("BlockReferences", () => {
  it("passes a store of what is not held and a removal of what nobody holds, and nothing else", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const references = new BlockReferences();
        const counts = new Map<string, number>();
        const told = new Set<string>();
        for (const event of steps.map(eventOf)) {
          if (event.kind === "cleared") counts.clear();
          else
            for (const key of keysOf(event)) {
              const count = counts.get(key) ?? 0;
              const next = event.kind === "stored" ? count + 1 : Math.max(0, count - 1);
              if (next === 0) counts.delete(key);
              else counts.set(key, next);
            }
          for (const passed of references.filter([event])) {
            if (passed.kind === "cleared") told.clear();
            else
              for (const key of keysOf(passed)) {
                expect(told.has(key)).toBe(passed.kind === "removed");
                if (passed.kind === "stored") told.add(key);
                else told.delete(key);
              }
          }
          expect(told).toEqual(new Set(counts.keys()));
          expect(references.size).toBe(counts.size);
        }
      }),
      { numRuns: 500 },
    );
  });
});
