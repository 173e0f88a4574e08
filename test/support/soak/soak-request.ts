import type { RequestState } from "@baton/protocol";
import type { Random } from "@baton/runtime";

/** When a client goes away. */
export type Departure =
  | { readonly kind: "after"; readonly ms: number }
  | { readonly kind: "state"; readonly state: RequestState }
  | { readonly kind: "chunks"; readonly chunks: number };

/** One request of a soak, and what its client does. */
export interface SoakRequest {
  /** Its `x-request-id`. */
  readonly id: string;
  readonly kind: RequestKind;
  readonly path: string;
  readonly body: string;
  readonly isStreamed: boolean;
  /** Prompts in it: each is a request of its own inside. */
  readonly prompts: number;
  /** Null: it waits for its answer. */
  readonly leaves: Departure | null;
}

/** What requests differ in. */
export const requestKinds = [
  "chat",
  "chat streamed",
  "completion",
  "completion streamed",
  "several choices",
  "several prompts",
  "long prompt",
  "bad input",
] as const;
/** One of them. */
export type RequestKind = (typeof requestKinds)[number];

/** What requests are drawn from. */
export interface RequestMix {
  /** A model with prefill and decode on separate workers. */
  readonly model: string;
  /** One whose workers do both, which has states of its own. Null: there is none. */
  readonly aggregatedModel: string | null;
  /** The share of requests whose client leaves, 0 to 1. */
  readonly leavingShare: number;
  /** The longest wait of a client that leaves after a time, ms. */
  readonly leaveWithinMs: number;
}

const chat = "/v1/chat/completions";
const completions = "/v1/completions";
/** States that a client waits for before it leaves: all that a request may be in before its end. */
const statesOfRelay: readonly RequestState[] = [
  "received",
  "preparing",
  "prefill.queued",
  "prefill.running",
  "decode.routing",
  "handoff",
  "decode.streaming",
];
const statesOfAggregated: readonly RequestState[] = [
  "received",
  "preparing",
  "decode.queued",
  "decode.running",
  "decode.streaming",
];
/** The share of requests for the aggregated model. */
const aggregatedShare = 0.25;
const words = "the relay runs on and hands over its baton at every bend of the long track".split(
  " ",
);
/** Beginnings of long prompts, so that caches of beginnings come to their bounds early. */
const longBeginnings = 64;
const longWords = 900;
/** Cut here, what follows is too short to be kept as a beginning of its own. */
const longUnits = 4_096;
const badBodies: readonly (readonly [path: string, body: string])[] = [
  [chat, "{"],
  [chat, '{"model":"mock"}'],
  [chat, '{"model":"nobody","messages":[{"role":"user","content":"Who?"}]}'],
  [completions, '{"model":"mock","prompt":7.5}'],
  [completions, '{"model":"mock","prompt":"x","max_tokens":-1}'],
  [completions, '{"model":"mock","prompt":"x","kv_transfer_params":{}}'],
  [completions, '{"model":"mock","prompt":"x","max_tokens":1000000}'],
];

/** Draws the request with this number. */
export function drawRequest(number: number, mix: RequestMix, random: Random): SoakRequest {
  const id = `soak-${number}`;
  const kind = pick(requestKinds, random);
  if (kind === "bad input") {
    const [path, body] = pick(badBodies, random);
    return { id, kind, path, body, isStreamed: false, prompts: 1, leaves: null };
  }
  const isStreamed = kind.endsWith("streamed") || (isMixed(kind) && random.number() < 0.5);
  const { aggregatedModel } = mix;
  const isAggregated = aggregatedModel !== null && random.number() < aggregatedShare;
  const states = isAggregated ? statesOfAggregated : statesOfRelay;
  const leaves =
    random.number() < mix.leavingShare * leavingOfGood
      ? drawDeparture(mix, states, isStreamed, random)
      : null;
  const prompts = kind === "several prompts" ? 2 + (random.u32() % 3) : 1;
  const [path, asked] = ask(kind, number, prompts, random);
  const body = {
    model: isAggregated ? aggregatedModel : mix.model,
    max_tokens: 1 + (random.u32() % 16),
    stream: isStreamed,
    ...asked,
  };
  return { id, kind, path, body: JSON.stringify(body), isStreamed, prompts, leaves };
}

/** Bad input is answered at once, so that others have to leave for it too. */
const leavingOfGood = requestKinds.length / (requestKinds.length - 1);

function isMixed(kind: RequestKind): boolean {
  return kind === "several choices" || kind === "several prompts" || kind === "long prompt";
}

function ask(
  kind: RequestKind,
  number: number,
  prompts: number,
  random: Random,
): readonly [path: string, body: Readonly<Record<string, unknown>>] {
  const text = `${number}: ${sentence(4 + (random.u32() % 60), random)}`;
  switch (kind) {
    case "completion":
    case "completion streamed":
      return [completions, { prompt: text }];
    case "several prompts":
      return [completions, { prompt: Array.from({ length: prompts }, (_, i) => `${i} ${text}`) }];
    case "several choices":
      return [chat, { messages: [{ role: "user", content: text }], n: 2 + (random.u32() % 3) }];
    case "long prompt":
      return [completions, { prompt: `${longBeginning(random.u32() % longBeginnings)}${number}` }];
    default:
      return [chat, { messages: [{ role: "user", content: text }] }];
  }
}

function drawDeparture(
  mix: RequestMix,
  states: readonly RequestState[],
  isStreamed: boolean,
  random: Random,
): Departure {
  const drawn = random.number();
  if (drawn < 0.15) return { kind: "after", ms: 0 };
  if (drawn < 0.4) return { kind: "after", ms: random.number() * mix.leaveWithinMs };
  if (drawn < 0.6 && isStreamed) return { kind: "chunks", chunks: 1 + (random.u32() % 4) };
  return { kind: "state", state: pick(states, random) };
}

function longBeginning(which: number): string {
  const text = Array.from(
    { length: longWords },
    (_, i) => words[(i * (which + 3) + which) % words.length],
  );
  return `${which} ${text.join(" ")}`.padEnd(longUnits, " on").slice(0, longUnits);
}

function sentence(length: number, random: Random): string {
  return Array.from({ length }, () => pick(words, random)).join(" ");
}

function pick<T>(from: readonly T[], random: Random): T {
  return from[random.u32() % from.length]!;
}
