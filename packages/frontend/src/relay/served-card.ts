import type { WorkerView } from "@baton/cluster-view";
import type { ModelCard, WorkerType } from "@baton/protocol";
import type { ServingMode } from "../request/request-sink.ts";

/** The workers that a request goes through, by the way in which it is served. */
const passedTypes: Readonly<Record<ServingMode, ReadonlySet<WorkerType>>> = {
  disaggregated: new Set(["prefill", "decode"]),
  aggregated: new Set(["aggregated"]),
  "decode-only": new Set(["decode"]),
};

/**
 * What a request may ask of all workers that it goes through: a prompt that the decode workers have no room for must not be
 * prefilled. While the model is not served, what one of its workers says; null if there is none.
 */
export function servedCard(
  workers: readonly Pick<WorkerView, "registration" | "state" | "workerType">[],
  mode: ServingMode | null,
): ModelCard | null {
  const live = workers.filter(({ state }) => state === "live");
  if (mode === null) return (live[0] ?? workers[0])?.registration.card ?? null;
  const cards = live
    .filter(({ workerType }) => passedTypes[mode].has(workerType))
    .map(({ registration }) => registration.card);
  const [first, ...others] = cards;
  return first === undefined ? null : others.reduce(narrowed, first);
}

/** What both can do. The workers of one set have the same card, so most are alike. */
function narrowed(card: ModelCard, other: ModelCard): ModelCard {
  const capabilities = card.capabilities.filter((one) => other.capabilities.includes(one));
  const contextLength = Math.min(card.contextLength, other.contextLength);
  const isSame =
    capabilities.length === card.capabilities.length && contextLength === card.contextLength;
  return isSame ? card : { ...card, capabilities, contextLength };
}
