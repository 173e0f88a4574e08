import { ServingError } from "@baton/protocol";
import type { RequestEvent } from "../../src/request/machine.ts";

/** What those events carry that carry one. */
export const someError = new ServingError("engine_failed");

/** Each event of the request machine, and each outcome of its guard. */
export const everyEvent: readonly RequestEvent[] = [
  { type: "prepare" },
  { type: "route.prefill" },
  { type: "route.decode" },
  { type: "prefill.dispatched" },
  { type: "prefill.done", ended: false },
  { type: "prefill.done", ended: true },
  { type: "decode.dispatched" },
  { type: "first.token" },
  { type: "finished" },
  { type: "failed", error: someError },
  { type: "lost", error: someError },
  { type: "deadline.passed" },
  { type: "cancelled" },
];
