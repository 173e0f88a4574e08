import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Registry } from "../../src/registry/registry.ts";
import { toCatalog } from "../../src/registry/to-catalog.ts";
import { registrationWith, registryWith } from "../support/builders.ts";

const id = fc.constantFrom("p1", "p2", "p3", "d1", "d2", "a1");
const generation = fc.integer({ min: 1, max: 3 });
const command = fc.oneof(
  fc.record({
    kind: fc.constant("register" as const),
    id,
    generation,
    blockSize: fc.constantFrom(16, 64),
    engine: fc.constantFrom("mock", "llama"),
  }),
  fc.record({ kind: fc.constant("hear" as const), id, generation, drains: fc.boolean() }),
  fc.record({ kind: fc.constant("lose" as const), id, generation, left: fc.boolean() }),
  fc.record({ kind: fc.constant("deregister" as const), id, generation }),
  fc.record({ kind: fc.constant("sweep" as const) }),
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

function apply(registry: Registry, step: Command, nowMs: number): void {
  switch (step.kind) {
    case "register": {
      const card = { blockSize: step.blockSize, engine: step.engine };
      registry.register(registrationWith(step.id, card, { generation: step.generation }), nowMs);
      return;
    }
    case "hear":
      registry.hear(step.id, step.generation, step.drains, nowMs);
      return;
    case "lose":
      registry.lose(step.id, step.generation, step.left, nowMs);
      return;
    case "deregister":
      registry.deregister(step.id, step.generation);
      return;
    case "sweep":
      registry.sweep(nowMs);
  }
}

const snapshot = (registry: Registry) =>
  toCatalog(registry, { namespace: "test", epoch: 1, revision: 1, complete: true });

describe("Registry, any history", () => {
  it("serves one card a set and one block size a model, and counts every change it shows", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 40_000 }), command), { maxLength: 60 }),
        (steps) => {
          const registry = registryWith();
          let nowMs = 0;
          let before = snapshot(registry);
          let version = registry.version;
          for (const [waitMs, step] of steps) {
            nowMs += waitMs;
            apply(registry, step, nowMs);
            const after = snapshot(registry);
            const serving = after.workers.filter(
              ({ state }) => state === "live" || state === "draining",
            );
            const sizes = new Set(serving.map(({ registration }) => registration.card.blockSize));
            expect(sizes.size).toBeLessThanOrEqual(1);
            for (const type of ["prefill", "decode", "aggregated"]) {
              const ofSet = serving.filter(({ registration }) => registration.set === type);
              const engines = new Set(ofSet.map(({ registration }) => registration.card.engine));
              expect(engines.size).toBeLessThanOrEqual(1);
            }
            if (JSON.stringify(after) !== JSON.stringify(before)) {
              expect(registry.version).toBeGreaterThan(version);
            }
            before = after;
            version = registry.version;
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it("ends empty when everybody has left", () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), (steps) => {
        const registry = registryWith();
        steps.forEach((step, nowMs) => {
          apply(registry, step, nowMs);
        });
        for (const { registration } of [...registry.entries()]) {
          registry.lose(registration.id, registration.generation, true, 100);
        }
        expect(snapshot(registry)).toMatchObject({ workers: [], models: [] });
      }),
    );
  });
});
