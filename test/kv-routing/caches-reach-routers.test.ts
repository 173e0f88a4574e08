import { kvEventAggregator } from "@baton/kv-event-aggregator";
import { prefillRouter } from "@baton/prefill-router";
import {
  actorId,
  GetKvEvents,
  KvEvents,
  KvHistory,
  modelName,
  Prefill,
  packKvEvents,
  RouteExplained,
  RoutePrefill,
} from "@baton/protocol";
import { type Bus, readOptions } from "@baton/runtime";
import {
  PlayedCluster,
  registrationOf,
  routePrefill,
  testGeneration,
  testModel,
} from "@baton/testing";
import { describe, expect, it } from "vitest";

const model = modelName(testModel);
const routerFlags = { "router-mode": "kv" };

/** Sequence hashes of a prompt's blocks, by their names. */
function hashesOf(...blocks: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(8 * blocks.length);
  const view = new DataView(bytes.buffer);
  for (const [index, block] of blocks.entries()) view.setUint32(8 * index, block, true);
  return bytes;
}

function asking(id: string, ...blocks: readonly number[]): RoutePrefill {
  const hashes = hashesOf(...blocks);
  return routePrefill(id, {
    promptTokens: 64 * blocks.length,
    blockHashes: hashes,
    sequenceHashes: hashes,
  });
}

/** A worker's cache on the bus: it says what it stores, and repeats it when it is asked. */
class PlayedCache {
  readonly #bus: Bus;
  readonly #subject: string;
  readonly #about: Pick<KvEvents, "workerId" | "generation" | "dpRank">;
  readonly #bodies: Uint8Array[] = [];

  constructor({ memory }: ReturnType<typeof playedCluster>, id: string) {
    const { subjects } = memory;
    this.#bus = memory.bus(`cache-of-${id}`);
    this.#subject = subjects.kvChanged(model, actorId(id));
    this.#about = { workerId: actorId(id), generation: testGeneration, dpRank: 0 };
    this.#bus.subscribe(subjects.worker("get-kv-events", model, actorId(id)), (message) => {
      const { from } = GetKvEvents.decode(message.payload);
      const bodies = this.#bodies.slice((from ?? 1) - 1);
      const lastSequence = this.#bodies.length;
      const kind = from === null ? "dump" : "batches";
      const history = { ...this.#about, lastSequence, kind, bodies, page: 0, next: null } as const;
      message.respond(KvHistory.encode(history));
    });
  }

  store(...blocks: readonly number[]): void {
    const hashes = hashesOf(...blocks);
    const events = packKvEvents([
      { kind: "stored", parent: null, blockHashes: hashes, sequenceHashes: hashes },
    ]);
    this.#bodies.push(events);
    const batch = { ...this.#about, sequence: this.#bodies.length, events };
    this.#bus.publish(this.#subject, KvEvents.encode(batch));
  }
}

const playedCluster = () =>
  new PlayedCluster({
    role: "prefill-router",
    request: RoutePrefill,
    commands: { prefill: Prefill },
  });

/** Two prefill workers with caches and a decode worker, and one router; the aggregator if the test wants it. */
async function relay(flags: Readonly<Record<string, unknown>> = routerFlags) {
  const cluster = playedCluster();
  const { memory } = cluster;
  const startRouter = (id: string) =>
    memory.start(prefillRouter, readOptions(prefillRouter.options, { flags, env: {} }), { id });
  const startAggregator = () =>
    memory.start(
      kvEventAggregator,
      readOptions(kvEventAggregator.options, { flags: {}, env: {} }),
      { id: "kv-1" },
    );
  cluster.join(...["p-1", "p-2", "d-1"].map((id) => registrationOf(id)));
  const caches = { p1: new PlayedCache(cluster, "p-1"), p2: new PlayedCache(cluster, "p-2") };
  const ears = memory.bus("f-9");
  /** The overlap that a router sees for a prompt, by worker. */
  const overlaps = async (...blocks: readonly number[]) => {
    const subject = memory.subjects.explainRoute("prefill-router", model);
    const asked = ears.request(subject, RoutePrefill.encode(asking("probe", ...blocks)), {
      timeoutMs: 1_000,
    });
    await cluster.pass();
    const { candidates } = RouteExplained.decode(await asked);
    return Object.fromEntries(
      candidates.map(({ workerId, overlapBlocks }) => [workerId, overlapBlocks]),
    );
  };
  /** Where a request went. It ends there at once. */
  let reports = 0;
  const sentTo = async (id: string, ...blocks: readonly number[]) => {
    cluster.ask(asking(id, ...blocks));
    await cluster.pass();
    const worker = cluster.commands.find((command) => command.id === id)?.worker;
    if (worker === undefined) return undefined;
    reports += 1;
    cluster.report(worker, { sequence: reports, endedBookings: [asking(id).requestId] });
    await cluster.pass();
    return worker;
  };
  return { cluster, caches, startRouter, startAggregator, overlaps, sentTo };
}

describe("what workers hold", () => {
  it("decides where prompts go, at each router", async () => {
    const { cluster, caches, startRouter, startAggregator, sentTo } = await relay();
    startAggregator();
    for (const id of ["r-1", "r-2"]) startRouter(id);
    await cluster.pass(1_000);
    caches.p2.store(1, 2, 3);
    caches.p1.store(7, 8);
    await cluster.pass(1_000);

    for (let count = 0; count < 6; count += 1) {
      expect(await sentTo(`a-${count}`, 1, 2, 3, 4)).toBe("p-2");
      expect(await sentTo(`b-${count}`, 7, 8, 9)).toBe("p-1");
    }
  });

  it("is known to a router that comes later, and serves by load until then", async () => {
    const { cluster, caches, startRouter, startAggregator, overlaps, sentTo } = await relay();
    startAggregator();
    await cluster.pass(1_000);
    caches.p2.store(1, 2);
    caches.p2.store(1, 2, 3);
    await cluster.pass(1_000);

    startRouter("r-1");
    await cluster.pass(100);
    expect(await sentTo("early", 5)).toBeDefined();
    await cluster.pass(2_000);

    expect(await overlaps(1, 2, 3, 4)).toEqual({ "p-1": 0, "p-2": 3 });
  });

  it("is no reason for a router without an aggregator to serve nobody", async () => {
    const { cluster, caches, startRouter, startAggregator, overlaps, sentTo } = await relay();
    startRouter("r-1");
    await cluster.pass(1_000);
    caches.p2.store(1, 2);
    await cluster.pass(1_000);
    expect([await sentTo("r1", 1, 2), await overlaps(1, 2)]).toEqual([
      expect.any(String),
      { "p-1": 0, "p-2": 0 },
    ]);

    startAggregator();
    await cluster.pass(5_000);

    expect(await overlaps(1, 2)).toEqual({ "p-1": 0, "p-2": 2 });
  });

  it("is nothing of a generation that is gone", async () => {
    const { cluster, caches, startRouter, startAggregator, overlaps } = await relay();
    startAggregator();
    startRouter("r-1");
    await cluster.pass(1_000);
    caches.p2.store(1, 2, 3);
    await cluster.pass(1_000);
    expect(await overlaps(1, 2, 3)).toMatchObject({ "p-2": 3 });

    cluster.kill("p-2");
    await cluster.pass(2_000);
    cluster.join(registrationOf("p-2"));
    await cluster.pass(1_000);

    expect(await overlaps(1, 2, 3)).toEqual({ "p-1": 0, "p-2": 0 });
  });

  it("is not asked for in a mode that does not look at it", async () => {
    const { cluster, caches, startRouter, startAggregator, overlaps } = await relay({
      "router-mode": "round-robin",
    });
    startAggregator();
    startRouter("r-1");
    await cluster.pass(1_000);
    const subjects: string[] = [];
    cluster.memory.network.observe(({ subject }) => void subjects.push(subject));
    caches.p2.store(1, 2, 3);
    await cluster.pass(5_000);

    expect(await overlaps(1, 2, 3)).toEqual({ "p-1": 0, "p-2": 0 });
    expect(subjects).not.toContain(cluster.memory.subjects.getKvPositions(model));
  });
});
