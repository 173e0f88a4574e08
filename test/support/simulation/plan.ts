import { type ActorRole, type RequestState, requestStates } from "@baton/protocol";

/** The byte that no message begins with: msgpack leaves it unused. */
export const noiseByte = 0xc1;

/**
 * What may go wrong in a run: nothing, clients alone, processes, engines and the KV between them, the bus as a whole, the
 * ways to it, or all of it.
 */
export type Temper =
  | "calm"
  | "departures"
  | "deaths"
  | "transfers"
  | "outage"
  | "network"
  | "everything";

/** How many of each actor a run has, and how its network and engines are. */
export interface ClusterShape {
  readonly frontends: number;
  readonly prefillRouters: number;
  readonly decodeRouters: number;
  readonly prefill: number;
  readonly decode: number;
  readonly aggregated: number;
  /** Decode workers that serve without prefill workers too. */
  readonly isDecodeOnly: boolean;
  readonly routerMode:
    | "round-robin"
    | "random"
    | "least-loaded"
    | "power-of-two"
    | "two-tier"
    | "kv";
  /** Seconds for which an idle session keeps its worker; null: sessions have no effect. */
  readonly sessionTtlSecs: number | null;
  /** Whether routers count what they sent on its way as cached before the event of it comes. */
  readonly predictsOnRoute: boolean;
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
  readonly maxPayloadBytes: number;
  /** Messages that wait for one member at most: few of them get lost when it stands still. */
  readonly maxPendingMessages: number;
  readonly prefillMs: number;
  readonly decodeMs: number;
  readonly transferGbps: number;
  /** KV blocks of one worker: few ones make it evict, preempt and refuse. */
  readonly blocks: number;
  readonly maxSequences: number;
  /** Racks that workers stand in by turns, and that KV stays inside of; 0: none. */
  readonly racks: number;
  /** A second Discovery that waits for its turn. */
  readonly hasSpareDiscovery: boolean;
  /** The same of the KvEventAggregator. */
  readonly hasSpareAggregator: boolean;
}

/** The bus is back for so long, in ms, and every request is served again. */
export const servesAgainMs = 2_000;

/** The output that a planned request asks for. */
export interface PlannedOutput {
  readonly maxTokens: number;
  readonly n: number;
  readonly stop: readonly string[];
  readonly temperature: number;
  readonly samplingSeed: number;
  /** Alternatives wanted per token; null: no log-probabilities. */
  readonly logprobs: number | null;
}

/** The states of a request that somebody may leave in, and something may happen in. */
export const openStates: readonly RequestState[] = requestStates.filter(
  (state) => !["completed", "failed", "cancelled"].includes(state),
);

/** How a client goes away before its answer is complete. */
export type PlannedLeave =
  | { readonly kind: "after"; readonly ms: number }
  /** As soon as the bus tells that its request is in this state. */
  | { readonly kind: "in-state"; readonly state: RequestState }
  /** It stops reading: its stream is cut where that many characters were written. */
  | { readonly kind: "reading"; readonly characters: number };

/** One client. */
export interface PlannedRequest {
  readonly atMs: number;
  readonly frontend: number;
  readonly prompt:
    | { readonly kind: "tokens"; readonly tokens: Uint32Array }
    | { readonly kind: "text"; readonly text: string }
    | { readonly kind: "chat"; readonly text: string };
  readonly output: PlannedOutput;
  /** The session that it names, and that session's parent. */
  readonly session: { readonly id: string; readonly parent?: string } | null;
  /** Null if it waits for the end. */
  readonly leaves: PlannedLeave | null;
}

/**
 * One thing that goes wrong. Times are after the start of the trouble. One that aims waits from then on for a request that
 * enters a state, and strikes the worker or the Frontend that has it; it may wait in vain.
 */
export type PlannedFault = { readonly atMs: number; readonly aims?: RequestState } & Trouble;

type Trouble =
  /** A process dies or leaves, and comes back as a new generation, or not before the end of the trouble. */
  | { readonly kind: "kill" | "drain"; readonly id: string; readonly backAfterMs: number | null }
  | {
      /**
       * `pause`: a process stands still. `disconnect`: its connection breaks. `engine-loss`: its engine dies with all it
       * holds. `engine-failure`: what its engine begins fails, as on a full disk.
       */
      readonly kind: "pause" | "disconnect" | "engine-loss" | "engine-failure";
      readonly id: string;
      readonly forMs: number;
    }
  /** The way to the bus, or from it, or both, fails under a connection that seems to stand. */
  | {
      readonly kind: "cut-way";
      readonly id: string;
      readonly way: "in" | "out" | "both";
      readonly forMs: number;
    }
  /** Links between servers lose a share of what goes to a member and comes from it. */
  | {
      readonly kind: "loss";
      readonly id: string;
      readonly share: number;
      readonly forMs: number;
    }
  /** What a worker pulls, or gives out, breaks off or arrives spoilt. */
  | {
      readonly kind: "pull-trouble";
      readonly id: string;
      readonly how: "cut" | "spoilt";
      readonly forMs: number;
    }
  /** Somebody shows the next ticket that is on the bus with a wrong secret, or once more when it was used. */
  | { readonly kind: "stolen-ticket"; readonly how: "wrong-secret" | "replay" }
  | { readonly kind: "server-stop"; readonly forMs: number }
  | { readonly kind: "garbage"; readonly row: number; readonly bytes: Uint8Array };

/** One actor of a run. */
export interface PlannedActor {
  readonly id: string;
  readonly role: ActorRole;
  readonly workerType: "prefill" | "decode" | "aggregated" | null;
  readonly rack: string | null;
  readonly startsAtMs: number;
}

/** All that a seed decides before the run. */
export interface SimulationPlan {
  readonly seed: number;
  readonly temper: Temper;
  readonly shape: ClusterShape;
  readonly actors: readonly PlannedActor[];
  /** Whether clients and trouble begin only when every actor is ready. */
  readonly waitsForReady: boolean;
  /** Milliseconds in which clients come and things go wrong. */
  readonly troubleMs: number;
  readonly requests: readonly PlannedRequest[];
  readonly faults: readonly PlannedFault[];
  /** The clients after the trouble. */
  readonly finalRequests: readonly PlannedRequest[];
  /** Whether every subject gets bytes that are no message, at the end. */
  readonly endsWithGarbage: boolean;
}
