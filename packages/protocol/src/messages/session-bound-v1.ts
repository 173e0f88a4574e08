import type { ActorId, WorkerId } from "../ids.ts";
import { arrayMessage, type MessageType, malformed } from "../message-type.ts";
import { type WorkerType, workerTypes } from "./worker-registration-v1.ts";

/**
 * Where a session's requests go. A router to every router of the role and model, the sender included, when it has dispatched a
 * request of the session and when the last one that it dispatched has ended. Of two words the later version counts: the higher
 * sequence, then the greater writer.
 */
export interface SessionBound {
  /** Who says it. */
  readonly routerId: ActorId;
  /** The pool that it is about: each has its own bindings. */
  readonly workerType: WorkerType;
  /** `s:` and the session's id, or `p:` and its parent's. */
  readonly key: string;
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  readonly sequence: number;
  /** The router that made the binding. */
  readonly writer: ActorId;
}

// v1: [routerId, workerType, key, workerId, generation, dpRank, sequence, writer]
export const SessionBound: MessageType<SessionBound> = arrayMessage(
  "session-bound",
  1,
  ["routerId", "workerType", "key", "workerId", "generation", "dpRank", "sequence", "writer"],
  (bound) => [
    bound.routerId,
    bound.workerType,
    bound.key,
    bound.workerId,
    bound.generation,
    bound.dpRank,
    bound.sequence,
    bound.writer,
  ],
  (fields) => ({
    routerId: fields.string<ActorId>(0),
    workerType: readWorkerType(fields.string(1)),
    key: fields.string(2),
    workerId: fields.string<WorkerId>(3),
    generation: fields.count(4),
    dpRank: fields.count(5),
    sequence: fields.count(6),
    writer: fields.string<ActorId>(7),
  }),
);

function readWorkerType(text: string): WorkerType {
  const workerType = workerTypes.find((known) => known === text);
  if (workerType === undefined) throw malformed("session-bound", "workerType");
  return workerType;
}
