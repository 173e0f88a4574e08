import { createKvTransferMetrics, HandoffLedger } from "@baton/kv-transfer";
import { type ActorContext, RecentIds } from "@baton/runtime";
import { modelNameOf, type WorkerConfig } from "./config.ts";
import type { Engine, EngineCard } from "./engine.ts";
import { FactSender } from "./fact-sender.ts";
import { FramePublisher } from "./frame-publisher.ts";
import { FrontendLeases } from "./frontend-leases.ts";
import { KvEventPublisher } from "./kv-event-publisher.ts";
import { type LiveWork, LoadReporter } from "./load-reporter.ts";
import { createWorkerMetrics } from "./metrics.ts";
import type { MoverFactory } from "./mover.ts";
import { Publisher } from "./publisher.ts";
import { endRequest, giveUpFrontend } from "./request-end.ts";
import { RequestTable } from "./request-table.ts";
import type { WorkerState } from "./state.ts";

/** Ids of cancelled requests are remembered: an abort may overtake its dispatch. */
const recentlyCancelled = { limit: 65_536, keepMs: 5_000 };

/** What a state is put together from. */
export interface StateParts {
  readonly context: ActorContext;
  readonly config: WorkerConfig;
  readonly engine: Engine;
  readonly card: EngineCard;
  readonly createMover: MoverFactory;
}

/** Puts together what the handlers of one worker read and write. Nothing listens or runs yet. */
export function createState(parts: StateParts): WorkerState {
  const { context, config, engine, card } = parts;
  const { frameIntervalMs, streamIntervalMs, kvEventIntervalMs: intervalMs } = config;
  const dump = (dpRank: number) => engine.dumpKv(dpRank);
  const { clock, subjects, metrics, id: workerId, generation } = context;
  const model = modelNameOf(config);
  const publisher = new Publisher(context);
  const requests = new RequestTable();
  const transferCounters = createKvTransferMetrics(metrics);
  const common = { workerId, model, subjects, publisher };
  const timed = { ...common, clock };
  const ledger = new HandoffLedger(
    { leaseMs: config.handoffLeaseMs, maxBytesHeld: config.maxStagedBytes },
    {
      clock,
      random: context.random,
      metrics,
      counters: transferCounters,
      onFreed: (requestId) => {
        const record = requests.get(requestId);
        if (record !== undefined) endRequest(state, record);
        engine.release(requestId);
      },
    },
  );
  const state: WorkerState = {
    config,
    context,
    model,
    engine,
    card,
    mover: parts.createMover(config, { clock, counters: transferCounters, desk: ledger }),
    ledger,
    requests,
    cancelled: new RecentIds(recentlyCancelled),
    publisher,
    facts: new FactSender({ actorId: workerId, model, subjects, publisher }),
    frames: new FramePublisher(generation, { ...timed, frameIntervalMs, streamIntervalMs }),
    kvEvents: new KvEventPublisher(generation, { ...timed, intervalMs, dump }),
    load: new LoadReporter({
      ...timed,
      source: {
        generation: () => state.generation,
        accepting: () => state.intake === "open",
        load: () => engine.load(),
        handoffsHeld: () => ledger.held,
        live: () => liveWork(requests, card.blockSize),
      },
    }),
    frontends: new FrontendLeases({
      context,
      requests,
      onLost: (id, lostGeneration) => giveUpFrontend(state, id, lostGeneration),
    }),
    counters: createWorkerMetrics(metrics, {
      sequences: () => requests.size,
      blocksUsed: () => engine.load().activeBlocks ?? 0,
      blocksCached: () => engine.load().cachedBlocks ?? 0,
      handoffsHeld: () => ledger.held,
    }),
    transferCounters,
    generation,
    intake: "closed",
    engineError: null,
  };
  return state;
}

/** Rank, prompt blocks, prompt tokens to compute and output tokens of each request. */
function liveWork(requests: RequestTable, blockSize: number): LiveWork {
  const states: number[] = [];
  for (const { dpRank, promptTokens, prefillTokens, outputTokens } of requests.all()) {
    states.push(dpRank, Math.floor(promptTokens / blockSize), prefillTokens, outputTokens);
  }
  return { bookings: requests.ids(), states };
}
