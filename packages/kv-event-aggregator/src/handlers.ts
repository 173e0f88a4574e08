import type { ModelView, WorkerView } from "@baton/cluster-view";
import { KvEvents, KvSnapshot, modelName } from "@baton/protocol";
import type { BusMessage } from "@baton/runtime";
import type { ListedWorker } from "./source/source-table.ts";
import { type AggregatorState, serves } from "./state.ts";
import { type SnapshotTarget, takeSnapshot } from "./take-snapshot.ts";

/** Room in a message for what is beside the dumps of a snapshot. */
const snapshotOverheadBytes = 65_536;
/** Losses after which a generation does not come back. */
const finalLosses: ReadonlySet<string> = new Set(["stopped", "replaced", "delisted"]);

/** Hot path: a batch of a worker, once an engine step at most. Its events are relayed unopened. */
export function relayBatch(state: AggregatorState, message: BusMessage): void {
  if (!state.elders.speaks) return;
  const batch = decodeBatch(state, message);
  if (batch !== undefined) state.table.batch(batch);
}

/** A worker is lost. One that says nothing may come back for a while; one that has left or was replaced may not. */
export function workerLost(state: AggregatorState, worker: WorkerView, why: string): void {
  if (!state.elders.speaks || !serves(state.config, worker.registration.card.model)) return;
  state.table.lose(listed(worker), finalLosses.has(why));
}

/** A consumer asks for all that the workers of a model hold. */
export function getKvSnapshot(state: AggregatorState, message: BusMessage): void {
  const { config, context, elders, metrics } = state;
  if (!elders.speaks) return;
  if (state.snapshots >= config.maxSnapshots) {
    metrics.snapshots.add(1, { outcome: "refused" });
    return;
  }
  const model = modelOf(state, message.subject);
  if (model === undefined) {
    message.respond(KvSnapshot.encode({ epoch: context.generation, feedSequence: 0, dumps: [] }));
    return;
  }
  state.snapshots += 1;
  answerSnapshot(state, model, message)
    .catch((error: unknown) => {
      context.log.warn({ err: error, model: model.model }, "snapshot failed");
    })
    .finally(() => {
      state.snapshots -= 1;
    });
}

/** The worker as the source table knows it. */
export function listed(worker: WorkerView): ListedWorker {
  return {
    id: worker.id,
    generation: worker.generation,
    model: modelName(worker.registration.card.model),
    isLost: worker.state === "lost",
  };
}

async function answerSnapshot(
  state: AggregatorState,
  { model, workers }: ModelView,
  message: BusMessage,
): Promise<void> {
  const { client, context, metrics, table } = state;
  let missing = 0;
  const snapshot = await takeSnapshot({
    epoch: context.generation,
    feedSequence: state.feed(model).feedSequence,
    targets: workers.filter(({ state: life }) => life !== "lost").flatMap(ranksOf),
    maxBytes: context.bus.maxMessageBytes - snapshotOverheadBytes,
    ask: (ask) => client.ask(ask),
    isGone: ({ workerId, generation }) => table.isFenced(workerId, generation),
    onMissing: (target) => {
      missing += 1;
      requestDump(state, target);
    },
  });
  metrics.snapshots.add(1, { outcome: missing === 0 ? "complete" : "partial" });
  message.respond(KvSnapshot.encode(snapshot));
}

/** Of a worker that is still the same and not lost: its dump is to come on the feed. */
function requestDump(state: AggregatorState, target: SnapshotTarget): void {
  const worker = state.view.worker(target.workerId);
  if (worker?.generation !== target.generation || worker.state === "lost") return;
  state.table.requestDump(listed(worker), target.dpRank);
}

function ranksOf(worker: WorkerView): readonly SnapshotTarget[] {
  const { dpStartRank, dpSize } = worker.registration.capacity;
  const { id: workerId, generation, model } = listed(worker);
  return Array.from({ length: dpSize }, (_, index) => ({
    model,
    workerId,
    generation,
    dpRank: dpStartRank + index,
  }));
}

function modelOf(state: AggregatorState, subject: string): ModelView | undefined {
  const { context, view } = state;
  return view.models().find(({ model }) => context.subjects.getKvSnapshot(model) === subject);
}

function decodeBatch(state: AggregatorState, message: BusMessage): KvEvents | undefined {
  try {
    return KvEvents.decode(message.payload);
  } catch (error) {
    // It stops here: what it held is asked for when the next batch shows the gap.
    state.metrics.undecodable.add();
    state.context.log.warn({ err: error, subject: message.subject }, "kv events undecodable");
    return undefined;
  }
}
