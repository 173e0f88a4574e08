import type { Counter, Histogram, Metrics } from "@baton/runtime";

/** The figures of a Frontend. */
export interface FrontendMetrics {
  /** Every request that was answered, by outcome, stage and code. */
  readonly requests: Counter;
  /** Requests that only asked where they would go, by the code of the error that they would get. */
  readonly routeQueries: Counter;
  readonly cachedTokens: Counter;
  readonly firstTokenSeconds: Histogram;
  readonly interTokenSeconds: Histogram;
  readonly promptTokens: Counter;
  readonly outputTokens: Counter;
  readonly transitionsDropped: Counter;
  readonly framesDropped: Counter;
  readonly cleanupsDropped: Counter;
  /** Messages that no live request takes: late ones, and those of an earlier life. */
  readonly strayMessages: Counter;
  readonly undecodable: Counter;
  readonly clientsCut: Counter;
  readonly connectionsRefused: Counter;
}

const firstTokenBuckets = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60,
];
const interTokenBuckets = [0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** Declares the figures. `inFlight` is read for the gauge. */
export function createFrontendMetrics(metrics: Metrics, inFlight: () => number): FrontendMetrics {
  metrics.gauge("baton_frontend_requests_in_flight", "Requests that have not ended.", inFlight);
  const counter = (name: string, help: string, labels: readonly string[] = []) =>
    metrics.counter(name, help, labels);
  return {
    requests: counter("baton_frontend_requests_total", "Requests that have ended.", [
      "outcome",
      "stage",
      "code",
    ]),
    routeQueries: counter(
      "baton_frontend_route_queries_total",
      "Requests that only asked where they would go.",
      ["code"],
    ),
    cachedTokens: counter(
      "baton_kv_cached_tokens_total",
      "Prompt tokens held by a cache, as seen by the best, by the chosen, and really reused by the worker.",
      ["kind", "model", "role"],
    ),
    firstTokenSeconds: metrics.histogram(
      "baton_frontend_first_token_seconds",
      "From a request's arrival to its first token.",
      firstTokenBuckets,
      ["model", "mode"],
    ),
    interTokenSeconds: metrics.histogram(
      "baton_frontend_inter_token_seconds",
      "Mean time between the tokens of one request.",
      interTokenBuckets,
      ["model", "mode"],
    ),
    promptTokens: counter("baton_frontend_prompt_tokens_total", "Prompt tokens.", ["model"]),
    outputTokens: counter("baton_frontend_output_tokens_total", "Returned tokens.", ["model"]),
    transitionsDropped: counter(
      "baton_frontend_transitions_dropped_total",
      "State changes that were not published.",
    ),
    framesDropped: counter(
      "baton_frontend_frames_dropped_total",
      "Token frames of a worker's generation or count that is gone.",
    ),
    cleanupsDropped: counter(
      "baton_frontend_cleanups_dropped_total",
      "Aborts and cancels that could not be sent.",
    ),
    strayMessages: counter(
      "baton_frontend_stray_messages_total",
      "Messages for requests that are over or never were.",
      ["fact"],
    ),
    undecodable: counter(
      "baton_frontend_undecodable_messages_total",
      "Messages that do not have the shape of their version.",
      ["fact"],
    ),
    ...clientCounters(metrics),
  };
}

function clientCounters(
  metrics: Metrics,
): Pick<FrontendMetrics, "clientsCut" | "connectionsRefused"> {
  return {
    clientsCut: metrics.counter(
      "baton_frontend_clients_cut_total",
      "Clients that were cut because they stopped reading.",
    ),
    connectionsRefused: metrics.counter(
      "baton_frontend_connections_refused_total",
      "Connections that were closed because there were too many.",
    ),
  };
}
