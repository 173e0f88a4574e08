import { actorId } from "@baton/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import { DeskWorld, worldPolicies } from "./support/desk-world.ts";

const worker = fc.constantFrom("w-1", "w-2", "w-3");
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("ask" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("ask staged" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("ask for" as const), worker }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("ask in" as const),
      id: fc.constantFrom("s", "t", "u"),
      parent: fc.constantFrom(undefined, undefined, "m"),
      isStaged: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("refuse next" as const), worker }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("prefill" as const), worker, isHeard: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("reload" as const),
      policy: fc.nat(worldPolicies.length - 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const), index: fc.nat(40) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("finish" as const), worker, isHeard: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("kill" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("join" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("heartbeat" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(1, 5, 20, 300) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function take(world: DeskWorld, taken: Step): Promise<void> {
  switch (taken.do) {
    case "ask":
      return world.ask({});
    case "ask staged":
      return world.ask({ handoff: new Uint8Array([1]) });
    case "ask for":
      return world.ask({ rules: { decodeWorkerId: actorId(taken.worker) } });
    case "ask in":
      return world.ask({
        rules: { session: sessionOf(taken) },
        ...(taken.isStaged ? { handoff: new Uint8Array([1]) } : {}),
      });
    case "refuse next":
      return world.refuseNext(taken.worker);
    case "prefill":
      return world.prefill(taken.worker, taken.isHeard);
    case "reload":
      return world.reload(taken.policy);
    case "cancel":
      return world.cancel(taken.index);
    case "finish":
      return world.finish(taken.worker, taken.isHeard);
    case "kill":
      return world.kill(taken.worker);
    case "join":
      return world.join(taken.worker);
    case "heartbeat":
      return world.heartbeat();
    case "pass":
      return world.pass(taken.ms);
  }
}

function sessionOf({ id, parent }: { readonly id: string; readonly parent: string | undefined }) {
  return parent === undefined ? { id } : { id, parent };
}

it("ends every request once and holds nothing in the end, whatever happens and in whatever order", async () => {
  const histories = fc.record({
    seed: fc.nat(),
    routers: fc.integer({ min: 1, max: 3 }),
    steps: fc.array(step, { maxLength: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(histories, async ({ seed, routers, steps }) => {
      const world = new DeskWorld(seed, routers);
      for (const taken of steps) await take(world, taken);
      await world.settle();

      expect(world.held).toEqual(new Array(routers).fill([0, 0, 0, 0, 0]));
      for (const [id, { isCancelled, isBounced, commands, failures }] of world.fates) {
        const refusals = failures.filter((code) => code !== "worker_lost").length;
        expect(failures.length, `${id} failed ${failures.join(", ")}`).toBeLessThanOrEqual(1);
        expect(commands + refusals, `${id} went two ways`).toBeLessThanOrEqual(1);
        if (!isCancelled) expect(commands + refusals, `${id} was forgotten`).toBe(1);
        const isToldLost = failures.includes("worker_lost");
        if (isToldLost || !isCancelled) expect(isToldLost, `${id} bounced`).toBe(isBounced);
      }
    }),
    { numRuns: 150 },
  );
}, 60_000);
