import type { ActorId, WorkerId } from "@baton/protocol";

/** How far one half of a request has come. */
export interface LegProgress {
  /** Whether a router was asked. */
  asked: boolean;
  /** The router that holds the request in its queue, as it said itself. */
  routerId: ActorId | null;
  /** The one router that was asked, if not all of them were. */
  namedRouterId: ActorId | null;
  /** The worker that has the work, as router or worker said. */
  workerId: WorkerId | null;
  generation: number;
  /** What the router said of its choice; null if the worker's word came first, or nobody's did. */
  dpRank: number | null;
  overlapBlocks: number | null;
  /** Whether nobody can hold anything of it: it failed, or was refused. */
  isOver: boolean;
  /** Whether the router itself refused it. */
  isRefused: boolean;
  /** Full load reports of that worker, one after the other, that did not list the request. */
  missedReports: number;
  /** When the last of those came. */
  missedAtMs: number;
}

/** A half that has not begun. */
export function newLeg(): LegProgress {
  return {
    asked: false,
    routerId: null,
    namedRouterId: null,
    workerId: null,
    generation: 0,
    dpRank: null,
    overlapBlocks: null,
    isOver: false,
    isRefused: false,
    missedReports: 0,
    missedAtMs: Number.NEGATIVE_INFINITY,
  };
}
