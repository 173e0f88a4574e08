import { KvFeed, type KvHistory, type KvSnapshot, packKvEvents } from "@baton/protocol";
import type { SourceAsk } from "./source/source-table.ts";

/** One rank to ask for a dump. */
export type SnapshotTarget = Omit<SourceAsk, "from">;

/** What a snapshot is made with. */
export interface SnapshotDeps {
  readonly epoch: number;
  /** The newest entry of the model's feed. */
  readonly feedSequence: number;
  readonly targets: readonly SnapshotTarget[];
  /** Most bytes of all dumps together. */
  readonly maxBytes: number;
  ask(ask: SourceAsk): Promise<KvHistory>;
  /** Whether that generation has been given up by now. */
  isGone(target: SnapshotTarget): boolean;
  /** A rank is not in the snapshot: its dump must come on the feed. */
  onMissing(target: SnapshotTarget): void;
}

const nothing = packKvEvents([]);

/**
 * Gathers the workers' own dumps. `feedSequence` is the feed's number from before anybody is asked: what a worker had
 * sent by then is in its dump, and what comes later on the feed is newer or, by its sequence, known to be covered.
 */
export async function takeSnapshot(deps: SnapshotDeps): Promise<KvSnapshot> {
  const answers = await Promise.all(deps.targets.map((target) => askForDump(deps, target)));
  const dumps: Uint8Array[] = [];
  let room = deps.maxBytes;
  deps.targets.forEach((target, index) => {
    if (deps.isGone(target)) return;
    const bytes = answers[index];
    if (bytes === undefined || bytes === null || bytes.byteLength > room) {
      deps.onMissing(target);
      return;
    }
    room -= bytes.byteLength;
    dumps.push(bytes);
  });
  return { epoch: deps.epoch, feedSequence: deps.feedSequence, dumps };
}

async function askForDump(deps: SnapshotDeps, target: SnapshotTarget): Promise<Uint8Array | null> {
  const { workerId, generation, dpRank } = target;
  try {
    const answer = await deps.ask({ ...target, from: null });
    if (answer.kind !== "dump") return null;
    return KvFeed.encode({
      epoch: deps.epoch,
      feedSequence: deps.feedSequence,
      kind: "dump",
      workerId,
      generation,
      dpRank,
      sequence: answer.lastSequence,
      events: answer.bodies[0] ?? nothing,
    });
  } catch {
    return null; // a worker that cannot answer is one of the missing, whatever the reason
  }
}
