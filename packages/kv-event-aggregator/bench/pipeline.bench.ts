// Worker → aggregator → router over a real NATS, all in this process, so that one iteration is the CPU of all three.
import { createKvFeedFollower, KvFeedFigures } from "@baton/cluster-view";
import { createFlatIndex, type PrefixIndex, RankSlots } from "@baton/kv-router";
import {
  type ActorRole,
  actorId,
  KvEvents,
  type KvPosition,
  KvPositions,
  modelName,
  namespaceName,
  packKvEvents,
  Subjects,
  workerId,
} from "@baton/protocol";
import {
  type ActorContext,
  type Bus,
  connectNats,
  createMetricsRegistry,
  hasNatsServer,
  RealClock,
  SystemRandom,
  silentLogger,
  startNatsServer,
} from "@baton/runtime";
import { Decoder, Encoder } from "@msgpack/msgpack";
import { afterAll, bench, describe } from "vitest";
import { ModelFeed } from "../src/model-feed.ts";
import { makeTableCounts, SourceTable } from "../src/source/source-table.ts";

const clock = new RealClock();
const namespace = namespaceName("bench");
const subjects = new Subjects(namespace);
const registry = createMetricsRegistry();
const model = modelName("m");
const id = workerId("w");
const runBlocks = 32;
/** Runs that the worker holds: 16,384 blocks. */
const runsHeld = 512;
const runs = 2 * runsHeld;
const batchesPerRound = 1_000;

/** The hashes of a run that no other has. */
function hashesOf(run: number): Uint8Array {
  const words = new Uint32Array(2 * runBlocks);
  for (let at = 0; at < runBlocks; at++) {
    const block = run * runBlocks + at + 1;
    words[2 * at] = Math.imul(block, 0x9e3779b1);
    words[2 * at + 1] = Math.imul(block, 0x85ebca6b) ^ block;
  }
  return new Uint8Array(words.buffer);
}

const hashesByRun = Array.from({ length: runs }, (_, run) => hashesOf(run));
const runAt = (sequence: number) => hashesByRun[sequence % runs] ?? new Uint8Array();
const evictedAt = (sequence: number) => runAt(sequence + runs - runsHeld);

/** The same stream from one sender to one index, in one way or another. */
interface Pipeline {
  send(sequence: number): void;
  /** Batches that have reached the index. */
  readonly arrived: number;
}

/** Sends a round, a part at a time, and waits until all of it is in the index. */
function benchPipeline(name: string, pipeline: Pipeline): void {
  let sequence = 0;
  bench(`1,000 batches of 32 blocks stored and 32 removed, ${name}`, async () => {
    const end = sequence + batchesPerRound;
    while (sequence < end) {
      for (let part = 0; part < 50; part++) pipeline.send(++sequence);
      await clock.yield();
    }
    while (pipeline.arrived < end) await clock.yield();
  });
}

/** Ours: a packed batch, relayed unopened, applied run by run. */
function packed(worker: Bus, aggregator: Bus, router: ActorContext): Pipeline {
  const feed = new ModelFeed({
    epoch: 1,
    sent: { batch: 0, reached: 0, gone: 0, back: 0 },
    publish: (bytes) => {
      aggregator.publish(subjects.kvFeed(model), bytes);
      return true;
    },
  });
  const table = new SourceTable(
    {
      attempts: 8,
      firstBackoffMs: 200,
      maxBackoffMs: 5_000,
      bufferedBatches: 1_024,
      lostHoldMs: 5_000,
      maxSources: 10,
    },
    {
      clock,
      counts: makeTableCounts(),
      lookUp: () => ({ id, generation: 1, model, isLost: false, dpRanks: [0] }),
      emit: (_model, entry) => feed.emit(entry),
      ask: () => undefined,
    },
  );
  aggregator.subscribe(subjects.kvChangedAll(model), ({ payload }) =>
    table.batch(KvEvents.decode(payload)),
  );
  const ranks: KvPosition[] = [];
  aggregator.subscribe(subjects.getKvPositions(model), (message) =>
    message.respond(KvPositions.encode({ epoch: 1, feedSequence: feed.feedSequence, ranks })),
  );
  let arrived = 0;
  const index = createFlatIndex();
  const figures = new KvFeedFigures(router.metrics);
  createKvFeedFollower(router, {
    model,
    role: "prefill",
    index,
    slots: new RankSlots(),
    figures,
  }).start();
  // Heard after the follower: whatever is counted here is in the index.
  router.bus.subscribe(subjects.kvFeed(model), () => {
    arrived += 1;
  });
  const subject = subjects.kvChanged(model, id);
  return {
    send: (sequence) => {
      const run = runAt(sequence);
      const events = packKvEvents([
        { kind: "stored", parent: null, blockHashes: run, sequenceHashes: run },
        { kind: "removed", sequenceHashes: evictedAt(sequence) },
      ]);
      const batch = { workerId: id, generation: 1, dpRank: 0, sequence, events };
      worker.publish(subject, KvEvents.encode(batch));
    },
    get arrived() {
      return arrived;
    },
  };
}

/** A change of one block, with named fields. */
type PeerChange =
  | {
      readonly type: "stored";
      readonly parent_hash: bigint | null;
      readonly block_hash: bigint;
      readonly tokens_hash: bigint;
    }
  | { readonly type: "removed"; readonly block_hash: bigint };

interface PeerBatch {
  readonly worker_id: string;
  readonly dp_rank: number;
  readonly event_id: number;
  readonly events: readonly PeerChange[];
}

/**
 * The peer: an object with named fields for each block, hashes as 64-bit integers. Its relay, too, reads the order and numbers
 * the feed; to do so it must open all of a message.
 */
function objects(worker: Bus, aggregator: Bus, router: Bus, index: PrefixIndex): Pipeline {
  const encoder = new Encoder({ useBigInt64: true });
  const decoder = new Decoder({ useBigInt64: true });
  const hash = new BigUint64Array(1);
  const hashBytes = new Uint8Array(hash.buffer);
  const parent = new BigUint64Array(1);
  const parentBytes = new Uint8Array(parent.buffer);
  const hashesIn = (bytes: Uint8Array) => [...new BigUint64Array(bytes.slice().buffer)];
  let arrived = 0;
  let feedSequence = 0;
  aggregator.subscribe("peer.events", ({ payload }) => {
    const batch = decoder.decode(payload) as PeerBatch;
    feedSequence += 1;
    aggregator.publish("peer.feed", encoder.encode({ ...batch, feed_sequence: feedSequence }));
  });
  router.subscribe("peer.feed", ({ payload }) => {
    const { events } = decoder.decode(payload) as PeerBatch;
    for (const event of events) {
      hash[0] = event.block_hash;
      if (event.type === "removed") {
        index.remove(0, "device", hashBytes);
        continue;
      }
      parent[0] = event.parent_hash ?? 0n;
      index.store(0, "device", event.parent_hash === null ? null : parentBytes, hashBytes);
    }
    arrived += 1;
  });
  return {
    send: (sequence) => {
      const run = hashesIn(runAt(sequence));
      const stored = run.map((block_hash, at): PeerChange => {
        return {
          type: "stored",
          parent_hash: run[at - 1] ?? null,
          block_hash,
          tokens_hash: block_hash,
        };
      });
      const evicted = hashesIn(evictedAt(sequence));
      const removed = evicted.map((block_hash): PeerChange => ({ type: "removed", block_hash }));
      const events = [...stored, ...removed];
      const batch: PeerBatch = { worker_id: id, dp_rank: 0, event_id: sequence, events };
      worker.publish("peer.events", encoder.encode(batch));
    },
    get arrived() {
      return arrived;
    },
  };
}

function contextOf(role: ActorRole, name: string, bus: Bus): ActorContext {
  return {
    id: actorId(name),
    role,
    namespace,
    generation: 1,
    subjects,
    bus,
    clock,
    random: new SystemRandom(),
    log: silentLogger(),
    metrics: registry.forActor(role, name),
    identity: { host: "bench", pid: 1, admin: null },
    heartbeatMs: 250,
    setSynced: () => undefined,
    fail: (error) => {
      throw error;
    },
  };
}

describe.skipIf(!hasNatsServer())("KV events from a worker to a router's index", async () => {
  if (!hasNatsServer()) return;
  const server = await startNatsServer();
  const connect = (name: string) =>
    connectNats(
      { url: server.url },
      {
        id: actorId(name),
        subjects,
        clock,
        log: silentLogger(),
        metrics: registry.forActor("bench", name),
      },
    );
  const buses = await Promise.all(["w", "agg", "r", "pw", "pagg", "pr"].map(connect));
  const [worker, aggregator, router, peerWorker, peerAggregator, peerRouter] = buses;
  if (worker === undefined || aggregator === undefined || router === undefined) return;
  if (peerWorker === undefined || peerAggregator === undefined || peerRouter === undefined) return;
  const ours = packed(worker, aggregator, contextOf("decode-router", "r", router));
  const peer = objects(peerWorker, peerAggregator, peerRouter, createFlatIndex());
  await Promise.all(buses.map((bus) => bus.flush()));
  benchPipeline("packed", ours);
  benchPipeline("an object for each block", peer);
  afterAll(async () => {
    await Promise.all(buses.map((bus) => bus.close()));
    await server.stop();
  });
});
