/** Hot path: at most twice a request. Budget 15 µs with its message. */
import { type ActorId, type Leg, ServingError } from "@baton/protocol";
import type { RelayState } from "./relay-state.ts";
import type { RelayedRequest } from "./relayed-request.ts";
import { bounceKeyOf, encodeRouteDecode, encodeRoutePrefill } from "./route-request.ts";

/** How long a request waits for its router, ms, before that is asked whether it lives, and then again. */
const askAfterMs = 100;

/**
 * Asks a router for a worker: the group of them, in which each gets its share; or one by name, while another of the group
 * hangs and would do nothing with its share.
 */
export function askRouter(
  state: RelayState,
  request: RelayedRequest,
  leg: Leg,
  to: ActorId | null,
): void {
  const { bus, clock, options, subjects, table } = state;
  const { model, stream } = request;
  const boundMs = options.deadlines[request.state] ?? options.routerNoticeMs;
  const encode = leg === "prefill" ? encodeRoutePrefill : encodeRouteDecode;
  try {
    const bytes = encode(request, table.headOf(request), boundMs);
    const role = `${leg}-router` as const;
    const subject = to === null ? subjects.route(role, model) : subjects.routeTo(role, model, to);
    bus.publish(subject, bytes, { bounceKey: bounceKeyOf(leg, stream) });
    const nowMs = clock.nowMs();
    request.legs[leg].asked = true;
    request.legs[leg].namedRouterId = to;
    request.noticeByMs = nowMs + options.routerNoticeMs;
    request.askAtMs = nowMs + askAfterMs;
  } catch (error) {
    request.send({ type: "failed", error: ServingError.from(error) });
  }
}

/** A request still waits for a router, which may be gone. */
export function askAfterRouter(state: RelayState, request: RelayedRequest): void {
  const leg = request.activeLeg;
  request.askAtMs = state.clock.nowMs() + askAfterMs;
  if (leg !== null) state.routers.ask(`${leg}-router`);
}
