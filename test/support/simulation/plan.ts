import type { ActorRole } from "@baton/protocol";

/** The byte that no message begins with: msgpack leaves it unused. */
export const noiseByte = 0xc1;

/** What may go wrong in a run: nothing but clients, processes, connections, or all of it. */
export type Temper = "calm" | "departures" | "deaths" | "network" | "everything";

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
}

/** The output that a planned request asks for. */
export interface PlannedOutput {
  readonly maxTokens: number;
  readonly n: number;
  readonly stop: readonly string[];
  readonly temperature: number;
  readonly samplingSeed: number;
}

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
  /** When the client leaves, after it came; null if it waits for the end. */
  readonly leavesAfterMs: number | null;
}

/** One thing that goes wrong. Times are after the start of the trouble. */
export type PlannedFault = { readonly atMs: number } & (
  | { readonly kind: "kill" | "drain"; readonly id: string; readonly backAfterMs: number | null }
  | {
      readonly kind: "pause" | "disconnect" | "engine-loss";
      readonly id: string;
      readonly forMs: number;
    }
  | { readonly kind: "server-stop"; readonly forMs: number }
  | { readonly kind: "garbage"; readonly row: number; readonly bytes: Uint8Array }
);

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
  readonly requests: readonly PlannedRequest[];
  readonly faults: readonly PlannedFault[];
  /** The clients after the trouble. */
  readonly finalRequests: readonly PlannedRequest[];
  /** Whether every subject gets bytes that are no message, at the end. */
  readonly endsWithGarbage: boolean;
}
