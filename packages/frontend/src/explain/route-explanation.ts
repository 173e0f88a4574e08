import type { Leg, RequestState, RouteExplained, ServingError } from "@baton/protocol";
import type { ServingMode } from "../request/request-sink.ts";

/** What a router said of one leg. */
export interface LegExplanation {
  readonly leg: Leg;
  readonly route: RouteExplained;
}

/** Where a request would go, and why. Nothing was booked or sent. */
export interface RouteExplanation {
  readonly model: string;
  /** Null if it did not come so far. */
  readonly mode: ServingMode | null;
  /** Empty if it did not come so far. */
  readonly tokens: Uint32Array;
  /** 0 if it did not come so far. */
  readonly blockSize: number;
  /** The legs that a router has answered for, in order. */
  readonly legs: readonly LegExplanation[];
  /** Fields that the request sets and that have no effect. */
  readonly ignored: readonly string[];
  /** How the real request would end, and in which state; null if it would be sent on, or wait for room. */
  readonly failure: { readonly error: ServingError; readonly stage: RequestState } | null;
}
