import type { Draw } from "./draw.ts";
import {
  type ClusterShape,
  openStates,
  type PlannedFault,
  type PlannedLeave,
  type PlannedOutput,
  type PlannedRequest,
  servesAgainMs,
  type Temper,
} from "./plan.ts";

/** Most clients come within this time, in ms, however long the trouble is. */
const rushMs = 2_000;
const prefixes = 3;
const printable = "abcdefghijklmnopqrstuvwxyz ";

/** Draws the clients of a run. Many share the beginning of their prompts; no two prompts are equal. */
export function planRequests(
  draw: Draw,
  temper: Temper,
  shape: ClusterShape,
  troubleMs: number,
): PlannedRequest[] {
  const count = draw.integer(6, 22);
  const heads = Array.from({ length: prefixes }, () => drawTokens(draw, draw.integer(16, 120)));
  const requests: PlannedRequest[] = [];
  for (let index = 0; index < count; index++) {
    requests.push({
      atMs: draw.between(0, draw.chance(0.75) ? rushMs : troubleMs),
      frontend: draw.integer(0, shape.frontends - 1),
      prompt: drawPrompt(draw, heads, index),
      output: drawOutput(draw),
      session: drawSession(draw),
      leaves: temper === "calm" || !draw.chance(0.35) ? null : drawLeave(draw, shape),
    });
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

function drawPrompt(
  draw: Draw,
  heads: readonly Uint32Array[],
  index: number,
): PlannedRequest["prompt"] {
  if (draw.chance(0.3)) {
    const text = `${drawText(draw, draw.integer(0, 60))}#${index}`;
    return draw.chance(0.5) ? { kind: "text", text } : { kind: "chat", text };
  }
  const head = draw.chance(0.7) ? draw.pick(heads) : new Uint32Array(0);
  // What follows the head names the request, so that its text is its own.
  const tail = [index & 0xff, index >>> 8, ...drawTokens(draw, draw.integer(1, 12))];
  const tokens = new Uint32Array(head.length + tail.length);
  tokens.set(head);
  tokens.set(tail, head.length);
  return { kind: "tokens", tokens };
}

/** A few sessions, so that some are used again, some of them children of one. */
function drawSession(draw: Draw): PlannedRequest["session"] {
  return draw.weighted<() => PlannedRequest["session"]>([
    [() => null, 5],
    [() => ({ id: `s${draw.integer(0, 2)}` }), 3],
    [() => ({ id: `c${draw.integer(0, 5)}`, parent: `s${draw.integer(0, 1)}` }), 2],
  ])();
}

function drawOutput(draw: Draw): PlannedOutput {
  return {
    maxTokens: drawLength(draw),
    n: draw.chance(0.15) ? 2 : 1,
    stop: draw.chance(0.15) ? [draw.pick(["-0", "-1", "-0 "])] : [],
    temperature: draw.chance(0.25) ? 0.7 : 0,
    samplingSeed: draw.integer(0, 1_000_000),
    logprobs: draw.chance(0.2) ? draw.integer(0, 3) : null,
  };
}

/** Some end with prefill, most soon, and a few run for seconds. */
function drawLength(draw: Draw): number {
  return draw.weighted([
    [() => 1, 3],
    [() => draw.integer(2, 48), 15],
    [() => draw.integer(100, 300), 2],
  ])();
}

function drawLeave(draw: Draw, shape: ClusterShape): PlannedLeave {
  return draw.weighted<() => PlannedLeave>([
    [() => ({ kind: "after", ms: drawPatience(draw, shape) }), 6],
    [() => ({ kind: "in-state", state: draw.pick(openStates) }), 3],
    [() => ({ kind: "reading", characters: draw.integer(1, 60) }), 1],
  ])();
}

/** Some leave at once, many while messages cross, most while something runs, a few after the end. */
function drawPatience(draw: Draw, { maxDelayMs }: ClusterShape): number {
  return draw.weighted([
    [() => 0, 1],
    [() => draw.between(0, 4 * maxDelayMs), 5],
    [() => draw.between(0, 150), 4],
    [() => draw.between(0, 1_000), 2],
  ])();
}

function drawTokens(draw: Draw, length: number): Uint32Array {
  return Uint32Array.from({ length }, () => draw.integer(0, 255));
}

function drawText(draw: Draw, length: number): string {
  return Array.from({ length }, () => draw.pick([...printable])).join("");
}

/** The clients that come when all trouble is over: two at each Frontend, and all must be served. */
export function finalRequests(draw: Draw, shape: ClusterShape): PlannedRequest[] {
  return Array.from({ length: shape.frontends * 2 }, (_, index) =>
    plainRequest(draw, `final-${index}`, {
      atMs: draw.between(0, 100),
      frontend: index % shape.frontends,
    }),
  );
}

/** One client at each Frontend, as soon as an outage has been over for so long that all must be served again. */
export function requestsAfterOutage(
  draw: Draw,
  shape: ClusterShape,
  faults: readonly PlannedFault[],
): PlannedRequest[] {
  return faults.flatMap((fault) => {
    if (fault.kind !== "server-stop") return [];
    const atMs = fault.atMs + fault.forMs + servesAgainMs;
    return Array.from({ length: shape.frontends }, (_, frontend) =>
      plainRequest(draw, `after-${frontend}`, { atMs, frontend }),
    );
  });
}

function plainRequest(
  draw: Draw,
  name: string,
  { atMs, frontend }: Pick<PlannedRequest, "atMs" | "frontend">,
): PlannedRequest {
  return {
    atMs,
    frontend,
    prompt: { kind: "text", text: `${drawText(draw, draw.integer(5, 50))}#${name}` },
    output: {
      maxTokens: draw.integer(4, 16),
      n: 1,
      stop: [],
      temperature: 0,
      samplingSeed: 0,
      logprobs: null,
    },
    session: null,
    leaves: null,
  };
}
