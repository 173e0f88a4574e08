import type { ModelView, WorkerView } from "@baton/cluster-view";
import {
  type ActorHeartbeat,
  GetKvHistory,
  KvEvents,
  KvHistory,
  type KvPosition,
  KvPositions,
  modelName,
  ServingError,
  type WorkerId,
} from "@baton/protocol";
import type { BusMessage } from "@baton/runtime";
import type { ListedWorker } from "./source/source-table.ts";
import { type AggregatorState, serves } from "./state.ts";

/** Losses after which a generation does not come back. */
const finalLosses: ReadonlySet<string> = new Set(["stopped", "replaced"]);

/** Hot path: a batch of a worker, once an engine step at most. Its events are relayed unopened. */
export function relayBatch(state: AggregatorState, message: BusMessage): void {
  if (!state.elders.speaks) return;
  const batch = decoded(state, message, "kv events", KvEvents.decode);
  if (batch !== undefined) state.table.batch(batch);
}

/** A worker says how far it has come. Nothing else tells of a batch that was lost if no other follows it. */
export function workerBeat({ elders, table }: AggregatorState, heartbeat: ActorHeartbeat): void {
  if (!elders.speaks) return;
  const workerId = heartbeat.id as WorkerId;
  const { generation } = heartbeat;
  for (const { dpRank, sequence } of heartbeat.kvBatches ?? []) {
    table.reach({ workerId, generation, dpRank, sequence });
  }
}

/** A worker is lost. One that says nothing may come back for a while; one that has left or was replaced may not. */
export function workerLost(state: AggregatorState, worker: WorkerView, why: string): void {
  if (!state.elders.speaks || !serves(state.config, worker.registration.card.model)) return;
  const atOnce = why === "delisted" ? "at once" : "held";
  state.table.lose(listed(worker), finalLosses.has(why) ? "final" : atOnce);
}

/** A follower asks which ranks are on a model's feed, and how far it has come. Nobody is asked, so the answer is at hand. */
export function getKvPositions(state: AggregatorState, message: BusMessage): void {
  // A follower forgets what is not listed: who does not know all workers yet has nothing to say.
  if (!state.elders.speaks || !state.view.synced) return;
  const model = modelOf(state, message.subject);
  state.metrics.positions.add();
  message.respond(
    KvPositions.encode({
      epoch: state.epoch,
      feedSequence: model === undefined ? 0 : state.feed(model.model).feedSequence,
      ranks: model === undefined ? [] : positionsOf(state, model),
    }),
  );
}

/** A follower asks for what it lacks of a rank. The answer may have been given to another one already. */
export function getKvHistory(state: AggregatorState, message: BusMessage): void {
  if (!state.elders.speaks) return;
  const ask = decoded(state, message, "ask for kv history", GetKvHistory.decode);
  if (ask === undefined) return;
  const worker = state.view.worker(ask.workerId);
  if (worker === undefined || !isServed(state, worker, ask)) {
    answerNothing(state, message, ask, "none");
  } else if (state.asks >= state.config.maxHistoryAsks) {
    answerNothing(state, message, ask, "refused");
  } else {
    state.asks += 1;
    answerHistory(state, listed(worker), ask, message)
      .catch((error: unknown) => {
        const { code } = ServingError.from(error);
        state.context.log.debug({ code, workerId: ask.workerId }, "no kv history from worker");
        answerNothing(state, message, ask, "failed");
      })
      .finally(() => {
        state.asks -= 1;
      });
  }
}

/** The worker as the source table knows it. */
export function listed(worker: WorkerView): ListedWorker {
  const { dpStartRank, dpSize } = worker.registration.capacity;
  return {
    id: worker.id,
    generation: worker.generation,
    model: modelName(worker.registration.card.model),
    isLost: worker.state === "lost",
    dpRanks: Array.from({ length: dpSize }, (_, index) => dpStartRank + index),
  };
}

async function answerHistory(
  state: AggregatorState,
  { model }: ListedWorker,
  ask: GetKvHistory,
  message: BusMessage,
): Promise<void> {
  const answer = await state.desk.answer({ ...ask, model });
  const isGone = state.table.isFenced(ask.workerId, ask.generation);
  if (isGone) return answerNothing(state, message, ask, "none");
  state.metrics.histories.add(1, { outcome: answer.kind });
  message.respond(KvHistory.encode(answer));
}

function answerNothing(
  { metrics }: AggregatorState,
  message: BusMessage,
  { workerId, generation, dpRank }: GetKvHistory,
  outcome: "none" | "refused" | "failed",
): void {
  metrics.histories.add(1, { outcome });
  const about = { workerId, generation, dpRank, lastSequence: 0, page: 0, next: null };
  message.respond(KvHistory.encode({ ...about, kind: "none", bodies: [] }));
}

/** What is followed, and what the catalog lists besides. */
function positionsOf({ table }: AggregatorState, { model, workers }: ModelView): KvPosition[] {
  const positions = [...table.positions(model)];
  const followed = new Set(positions.map(nameOf));
  for (const worker of workers) {
    const { id: workerId, generation, isLost, dpRanks } = listed(worker);
    const isThere = !isLost || table.follows(workerId, generation);
    if (!isThere || table.isFenced(workerId, generation)) continue;
    for (const dpRank of dpRanks) {
      const position = { workerId, generation, dpRank, sequence: null };
      if (!followed.has(nameOf(position))) positions.push(position);
    }
  }
  return positions;
}

function nameOf({ workerId, generation, dpRank }: KvPosition): string {
  return `${generation} ${dpRank} ${workerId}`;
}

/** Whether a rank of a generation is on the feed, or may be soon: a worker that has just been heard again is about to be. */
function isServed(
  { table }: AggregatorState,
  worker: WorkerView,
  { generation, dpRank }: Pick<GetKvHistory, "generation" | "dpRank">,
): boolean {
  if (worker.generation !== generation || table.isFenced(worker.id, generation)) return false;
  const { dpStartRank, dpSize } = worker.registration.capacity;
  if (dpRank < dpStartRank || dpRank >= dpStartRank + dpSize) return false;
  return worker.state !== "lost" || table.follows(worker.id, generation);
}

function modelOf({ context, view }: AggregatorState, subject: string): ModelView | undefined {
  return view.models().find(({ model }) => context.subjects.getKvPositions(model) === subject);
}

function decoded<T>(
  { context, metrics }: AggregatorState,
  { payload, subject }: BusMessage,
  what: string,
  decode: (bytes: Uint8Array) => T,
): T | undefined {
  try {
    return decode(payload);
  } catch (error) {
    // It stops here: what a batch held is asked for when the next one shows the gap.
    metrics.undecodable.add();
    context.log.warn({ err: error, subject, what }, "message undecodable");
    return undefined;
  }
}
