import fc from "fast-check";
import { expect, it } from "vitest";
import { defaultLoadTracking, type LiveBooking, type RoutingCore } from "../../src/index.ts";
import { booking, worker } from "../support.ts";
import { blockSize, coreBooking, coreOf, coreRequest, routableWorker } from "./core-support.ts";

const workers = ["w1", "w2", "w3"];
const tracking = { ...defaultLoadTracking, trackOutputBlocks: true };

/** One request's life, and what each of two routers hears of its booking. */
const lives = fc.array(
  fc.record({
    text: fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 8 }),
    place: fc.constantFrom(...workers),
    rank: fc.integer({ min: 0, max: 1 }),
    sender: fc.integer({ min: 0, max: 1 }),
    /** Tokens after which the last report finds it; null: it has ended by then. */
    outputTokens: fc.option(fc.integer({ min: 0, max: 40 }), { nil: null }),
    isPrefilled: fc.boolean(),
    isLostFor: fc.constantFrom("nobody", "nobody", "nobody", "first", "second"),
  }),
  { maxLength: 12 },
);

type Life = ReturnType<typeof lives.generate>["value"][number] & { readonly name: string };
type Message = (core: RoutingCore, nowMs: number) => void;

/** What the two routers and the workers send, each in its own order. */
function streamsOf(all: readonly Life[], core: "first" | "second"): Message[][] {
  const routers = [0, 1].map((sender) =>
    all
      .filter((life) => life.sender === sender && life.isLostFor !== core)
      .map(
        (life): Message =>
          (target, nowMs) => {
            const { text, place, rank } = life;
            const facts = { workerId: worker(place), dpRank: rank, atMs: nowMs };
            target.book(coreBooking(life.name, text, { ...facts, expectedOutputTokens: 32 }));
          },
      ),
  );
  const reports = workers.map((place): Message[] => {
    const own = all.filter((life) => life.place === place);
    return [own.slice(0, own.length / 2), own].map(
      (known): Message =>
        (target, nowMs) =>
          target.reconcile({ workerId: worker(place), generation: 1 }, known.map(liveOf), nowMs),
    );
  });
  return [...routers, ...reports];
}

function liveOf(life: Life): LiveBooking {
  return {
    bookingId: booking(life.name),
    dpRank: life.rank,
    promptBlocks: life.text.length,
    prefillTokens: life.isPrefilled ? 0 : life.text.length * blockSize,
    outputTokens: life.outputTokens ?? 1,
  };
}

/** Delivers the streams to a core, in an order that `draws` decides. */
function deliver(core: RoutingCore, streams: readonly Message[][], draws: readonly number[]): void {
  const left = streams.map((stream) => [...stream]);
  for (let turn = 0; left.some((stream) => stream.length > 0); turn += 1) {
    const open = left.filter((stream) => stream.length > 0);
    open[(draws[turn % draws.length] ?? 0) % open.length]?.shift()?.(core, turn);
  }
}

/** The last heartbeats, long after: what they do not name has ended. */
function settle(core: RoutingCore, all: readonly Life[], nowMs: number): void {
  for (const place of workers) {
    const own = all.filter((life) => life.place === place && life.outputTokens !== null);
    core.reconcile({ workerId: worker(place), generation: 1 }, own.map(liveOf), nowMs);
  }
}

const listed = workers.map((name) => routableWorker(name, { dpSize: 2 }));

function figuresOf(core: RoutingCore) {
  core.explain(coreRequest("abab", { nowMs: 50_000 }), 0);
  return core.candidates("aggregated").map((candidate) => ({ ...candidate }));
}

const draws = fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 40 });
const named = lives.map((all) => all.map((life, index) => ({ ...life, name: `r${index}` })));

it("comes to the same figures as another that heard the same in another order", () => {
  fc.assert(
    fc.property(named, draws, draws, (all, one, other) => {
      const heard = all.map((life) => ({ ...life, isLostFor: "nobody" as const }));
      const [first, second] = [one, other].map((order) => {
        const { core } = coreOf(listed, { tracking });
        deliver(core, streamsOf(heard, "first"), order);
        settle(core, heard, 50_000);
        return figuresOf(core);
      });
      expect(first).toEqual(second);
    }),
    { numRuns: 100 },
  );
});

it("learns from reports what bookings it did not hear", () => {
  fc.assert(
    fc.property(named, draws, draws, (all, one, other) => {
      const [first, second] = (["first", "second"] as const).map((which) => {
        const { core } = coreOf(listed, { tracking });
        deliver(core, streamsOf(all, which), which === "first" ? one : other);
        settle(core, all, 50_000);
        return figuresOf(core).map((figures) => [
          figures.requestsInFlight,
          figures.workerRequestsInFlight,
          figures.activePrefillTokens,
        ]);
      });
      expect(first).toEqual(second);
    }),
    { numRuns: 100 },
  );
});

it("holds nothing when all has ended, and the next worker is where the first was", () => {
  fc.assert(
    fc.property(
      named,
      draws,
      fc.constantFrom("report", "release", "lost", "stale"),
      (all, order, how) => {
        const slots: number[] = [];
        const closed: number[] = [];
        const { core } = coreOf(listed, {
          tracking,
          predicted: () => ({
            size: 0,
            record: (rank) => slots.push(rank),
            find: () => undefined,
            removeRank: (rank) => closed.push(rank),
            sweep: () => undefined,
          }),
        });
        deliver(core, streamsOf(all, "first"), order);
        if (how === "report") settle(core, [], 50_000);
        else if (how === "stale") core.sweep(50_000);
        else if (how === "lost")
          for (const name of workers) core.dropWorker(worker(name), 1, 50_000);
        else for (const { name } of all) core.release(booking(name), 50_000);

        const none = { requestsInFlight: 0, workerRequestsInFlight: 0, bookedBlocks: 0 };
        const idle = { ...none, bookedOverlapBlocks: 0, activePrefillTokens: 0 };
        expect(figuresOf(core)).toMatchObject(listed.flatMap(() => [idle, idle]));
        expect(core.booked).toBe(0);
        core.setWorkers([]);
        expect(closed.toSorted((left, right) => left - right)).toEqual([0, 1, 2, 3, 4, 5]);
        core.book(coreBooking("z", "ab"));
        expect(slots.at(-1)).toBeLessThan(6);
      },
    ),
    { numRuns: 100 },
  );
});
