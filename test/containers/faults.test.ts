import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ContainerCluster, Load, type SeenAnswer } from "../support/containers/index.ts";
import {
  type ActorSpec,
  describeWith,
  post,
  settles,
  waitUntil,
  workerSpec,
} from "../support/processes/index.ts";

const timing = { "mock-prefill-ms": 30, "mock-decode-ms": 10 };
const numbered = (role: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${role}-${index + 1}`);
const workers = [
  ...numbered("prefill", 3).map((id) => workerSpec("prefill", id, "mock", timing)),
  ...numbered("decode", 3).map((id) => workerSpec("decode", id, "mock", timing)),
];
const routers = (["prefill-router", "decode-router"] as const).flatMap((role) =>
  numbered(role, 2).map((id): ActorSpec => ({ role, id })),
);
const frontends = numbered("frontend", 2).map((id): ActorSpec => ({ role: "frontend", id }));

const faults = ["kill", "pause", "cut"] as const;
type Fault = (typeof faults)[number];
const undo = { stop: "startAgain", kill: "startAgain", pause: "resume", cut: "heal" } as const;

/** How long a fault lasts: longer than anybody takes to notice it; a cut until the server has dropped the connection. */
const faultMs = { kill: 1_800, pause: 2_000, cut: 3_000 } as const;
const lostMs = { kill: 1_000, pause: 1_500, cut: 1_500 } as const;
/** A request that was just sent to a router that hangs waits until that is known to be lost, and a quarter of a second more. */
const routerLostMs = { kill: 1_000, pause: 1_800, cut: 1_800 } as const;
/** Requests take a fifth of a second: those of this time before a return may be under way at it. */
const underWayMs = 250;
/** From the end of a fault until a worker serves again. A killed one comes up first; a network that is back is dialled first. */
const backMs = { kill: 30_000, pause: 2_000, cut: 5_000 } as const;

/** What clients may see of a fault, and for how long each of them. */
interface Sight {
  readonly codes: readonly string[];
  readonly endsWithinMs: (fault: Fault) => number;
}

const worker: Sight = {
  codes: ["worker_lost"],
  endsWithinMs: (fault) => lostMs[fault],
};
const router: Sight = {
  codes: ["router_lost"],
  endsWithinMs: (fault) => routerLostMs[fault],
};
const nothing: Sight = { codes: [], endsWithinMs: () => 0 };
const sights: readonly (readonly [string, Sight])[] = [
  // A decode worker that fetches from it just then may be first to see it.
  ["prefill-1", { ...worker, codes: ["worker_lost", "kv_transfer_failed"] }],
  ["decode-1", worker],
  ["prefill-router-1", router],
  ["decode-router-1", router],
  ["discovery", nothing],
  ["kv-event-aggregator", nothing],
];

describeWith(
  ["docker"],
  "two of each router, two Frontends and three workers a role, each in a container",
  () => {
    let cluster: ContainerCluster;

    beforeAll(async () => {
      cluster = await ContainerCluster.open();
      const others: readonly ActorSpec[] = [
        { role: "discovery", id: "discovery" },
        { role: "kv-event-aggregator", id: "kv-event-aggregator" },
      ];
      const all = [...frontends, ...routers, ...workers, ...others];
      await Promise.all(all.map((spec) => cluster.start(spec)));
      await cluster.startNats();
      await cluster.watch();
      await cluster.untilWhole();
    }, 240_000);
    afterEach(async ({ task }) => {
      if (task.result?.state === "fail") process.stderr.write(`${await cluster.printed()}\n`);
    });
    afterAll(() => cluster?.close(), 60_000);

    const ask = async (api: string) =>
      await post(api, "completions", {
        model: "mock",
        prompt: "Who runs?",
        max_tokens: 3,
        baton: { include: ["route"] },
      });

    /** Puts a load on, does something to the cluster, and gives what clients saw once all is well again. */
    async function underLoad(
      disturb: (load: Load) => Promise<void>,
    ): Promise<readonly SeenAnswer[]> {
      const load = new Load(() => cluster.apis);
      let wholeAtMs = 0;
      try {
        await waitUntil("answers", () => load.seen.length >= 12, { timeoutMs: 30_000 });
        await disturb(load);
        wholeAtMs = performance.now();
        await waitUntil("answers again", () => load.endedSince(wholeAtMs) >= 6, {
          timeoutMs: 20_000,
        });
      } finally {
        // The next one begins with what this one leaves, however it ends.
        await load.stop();
      }
      const { seen } = load;
      await cluster.untilIdle();
      const late = seen.filter(({ startedAtMs }) => startedAtMs > wholeAtMs);
      expect(await outcomesOf(late, ["ok"])).toEqual([]);
      return seen;
    }

    /** Does it, waits until it is noticed and the Frontends that are left serve without it, undoes it, and tells when each was. */
    async function suffer(fault: Fault, id: string, load: Load) {
      const atMs = await cluster[fault](id);
      try {
        await waitUntil("the fault to be noticed", () => performance.now() > atMs + faultMs[fault]);
        const left = frontends.filter((one) => one.id !== id);
        await waitUntil("answers meanwhile", () => left.every((one) => load.serves(one.id, atMs)));
      } finally {
        await cluster[undo[fault]](id);
      }
      const backAtMs = performance.now();
      const servesAtMs = await untilItServes(id);
      await cluster.untilWhole();
      return { atMs, backAtMs, servesAtMs };
    }

    /** Asks for this worker and no other until that answers; who is no worker is there when status says so. */
    async function untilItServes(id: string): Promise<number> {
      const pin = workers.find((one) => one.id === id)?.flags?.["worker-type"];
      if (pin === undefined) return performance.now();
      const api = cluster.api("frontend-2");
      return await waitUntil(
        `${id} to serve`,
        async () => {
          const baton = { [`${pin}_worker`]: id };
          const body = { model: "mock", prompt: "Are you back?", max_tokens: 2, baton };
          const answer = await post(api, "completions", body);
          return answer.status === 200 && answer.atMs;
        },
        { timeoutMs: 30_000 },
      );
    }

    it("come up with NATS as the last to arrive, and every worker and Frontend serves", async () => {
      await cluster.untilWhole();
      const used = new Set<string>();
      for (const api of cluster.apis.values()) {
        await waitUntil("an answer", async () => (await ask(api)).status === 200);
      }

      await waitUntil("every worker to have been used", async () => {
        for (const api of cluster.apis.values()) {
          const { baton } = (await ask(api)).body;
          expect(baton?.mode).toBe("disaggregated");
          used.add(baton?.prefill_worker ?? "").add(baton?.decode_worker ?? "");
        }
        return used.size === workers.length;
      });

      expect([...used].sort()).toEqual(workers.map(({ id }) => id).sort());
    });

    describe.each(faults)("and a %s", (fault) => {
      it.each(sights)(
        `of %s harms no more than it must, and all is well again`,
        async (id, sight) => {
          let times = { atMs: 0, backAtMs: 0, servesAtMs: 0 };
          const seen = await underLoad(async (load) => {
            times = await suffer(fault, id, load);
          });

          const { atMs, backAtMs, servesAtMs } = times;
          expect(servesAtMs - backAtMs).toBeLessThan(backMs[fault]);
          const harmed = seen.filter(({ outcome }) => outcome !== "ok");
          // One that wakes or is connected again may be given work just before the server drops the connection that it had.
          const atReturn = harmed.filter(({ startedAtMs }) => startedAtMs > backAtMs - underWayMs);
          const before = harmed.filter((one) => !atReturn.includes(one));
          expect(await outcomesOf(before, sight.codes)).toEqual([]);
          expect(await outcomesOf(atReturn, fault === "kill" ? [] : returnCodes(sight))).toEqual(
            [],
          );
          for (const { startedAtMs, endedAtMs } of before) {
            const bound = sight.endsWithinMs(fault);
            expect(endedAtMs - Math.max(startedAtMs, atMs)).toBeLessThan(bound);
            // Only those are harmed that were under way or began in the first moments.
            expect(startedAtMs - atMs).toBeLessThan(bound);
          }
        },
      );

      it("of frontend-1 harms just its own clients, and all is well again", async () => {
        let backAtMs = 0;
        const seen = await underLoad(async (load) => {
          ({ backAtMs } = await suffer(fault, "frontend-1", load));
        });

        const harmed = seen.filter(({ outcome }) => outcome !== "ok");
        expect(harmed.filter(({ frontend }) => frontend !== "frontend-1")).toEqual([]);
        // The clients of a dead one have no connection; one that is cut off knows why once it has
        // noticed, and has had no notice of a router until then; one that wakes up has missed its time.
        const codes = {
          kill: ["broken"],
          pause: ["bus_unavailable", "handoff_refused", "router_lost", "worker_lost"],
          cut: ["bus_unavailable", "router_lost"],
        };
        const still = harmed.filter(({ startedAtMs }) => startedAtMs < backAtMs);
        expect(await outcomesOf(still, codes[fault])).toEqual([]);
      });
    });

    describe.each(["stop", "kill", "pause"] as const)("and a %s of NATS", (fault) => {
      it("is over when it is back: nobody was declared lost, and what failed says why", async () => {
        const before = await generations();
        let servesAfterMs = 0;
        const seen = await underLoad(async () => {
          await cluster[fault]("nats-1");
          const [api = ""] = cluster.apis.values();
          try {
            await waitUntil("a refusal", async () => (await ask(api)).status === 503);
          } finally {
            await cluster[undo[fault]]("nats-1");
          }
          const backAtMs = performance.now();
          await waitUntil("an answer", async () => (await ask(api)).status === 200);
          servesAfterMs = performance.now() - backAtMs;
          await cluster.untilWhole();
        });

        expect(servesAfterMs).toBeLessThan(2_000);
        const harmed = seen.filter(({ outcome }) => outcome !== "ok");
        expect(await outcomesOf(harmed, ["bus_unavailable", "router_lost"])).toEqual([]);
        await expect.poll(generations, settles).toEqual(before);
      });
    });

    /** The answers whose outcome is not among those expected, with the way that each request went. */
    async function outcomesOf(seen: readonly SeenAnswer[], expected: readonly string[]) {
      const watch = await cluster.watch();
      return seen
        .filter(({ outcome }) => !expected.includes(outcome))
        .map((answer) => ({ ...answer, states: watch.states(answer.id) }));
    }

    async function generations(): Promise<Readonly<Record<string, number>>> {
      const { actors } = await cluster.status();
      return Object.fromEntries(actors.map(({ id, generation }) => [id, generation]).sort());
    }
  },
);

function returnCodes({ codes }: Sight): readonly string[] {
  return codes.length === 0 ? [] : [...codes, "bus_unavailable"];
}
