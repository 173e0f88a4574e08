import type { ErrorCode, ModelName, WorkerType } from "@baton/protocol";
import type { Counter, Histogram, Metrics } from "@baton/runtime";

/** The label `role` of a router's figures: the type of the workers that it chooses. */
export type WorkerRoleLabel = "prefill" | "decode";

/** What a router counts. */
export interface RouterMetrics {
  dispatched(): void;
  refused(code: ErrorCode): void;
  undeliverable(): void;
  malformed(): void;
  /** A policy file that has changed was taken over, or refused. */
  policyReloads(outcome: "taken" | "refused"): void;
  /** One choice of a worker, in seconds. */
  selected(seconds: number): void;
  /** One choice's cached prompt tokens: the most that any eligible worker holds, and what the chosen one holds. */
  cachedTokens(
    model: ModelName,
    workerType: WorkerType,
    tokens: { readonly best: number; readonly selected: number },
  ): void;
}

const microsecond = 1e-6;
/** Upper bounds from 2 µs to 5 ms: the budget is 50 µs. */
const selectionBuckets = [2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000].map(
  (bound) => bound * microsecond,
);

/** Declares the figures of a router. What is held is read when somebody asks. */
export function routerMetrics(
  metrics: Metrics,
  role: WorkerRoleLabel,
  held: Readonly<Record<"bookings" | "queued" | "sessions", () => number>>,
): RouterMetrics {
  const labels = { role };
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge(`baton_router_${name}`, help, () => [[labels, read()]], ["role"]);
  const counter = (name: string, help: string, more: readonly string[] = []): Counter =>
    metrics.counter(`baton_router_${name}`, help, ["role", ...more]);
  gauge("bookings", "Requests booked on workers.", held.bookings);
  gauge("queued", "Requests that wait for a worker.", held.queued);
  gauge("sessions", "Sessions that are bound to a worker, or being bound.", held.sessions);
  const dispatched = counter("dispatched_total", "Requests sent to a worker.");
  const refused = counter("refused_total", "Requests refused before dispatch, by code.", ["code"]);
  const undeliverable = counter("undeliverable_total", "Dispatches that found nobody.");
  const malformed = counter("malformed_messages_total", "Messages that could not be decoded.");
  const selection: Histogram = metrics.histogram(
    "baton_router_selection_seconds",
    "Time to choose a worker, of one choice in sixteen.",
    selectionBuckets,
    ["role"],
  );
  const cached = metrics.counter(
    "baton_kv_cached_tokens_total",
    "Prompt tokens held by a cache, as seen by the best, by the chosen, and really reused by the worker.",
    ["kind", "model", "role"],
  );
  const reloads = counter("policy_reloads_total", "Changes of the policy file.", ["outcome"]);
  return {
    policyReloads: (outcome) => reloads.add(1, { role, outcome }),
    cachedTokens: (model, workerType, { best, selected }) => {
      cached.add(best, { kind: "best", model, role: workerType });
      cached.add(selected, { kind: "selected", model, role: workerType });
    },
    dispatched: () => dispatched.add(1, labels),
    refused: (code) => refused.add(1, { role, code }),
    undeliverable: () => undeliverable.add(1, labels),
    malformed: () => malformed.add(1, labels),
    selected: (seconds) => selection.observe(seconds, labels),
  };
}
