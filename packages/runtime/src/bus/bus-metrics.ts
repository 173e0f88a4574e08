import type { Counter, Metrics } from "../metrics.ts";

/** The figures of one bus. */
export interface BusMetrics {
  readonly messagesIn: Counter;
  readonly messagesOut: Counter;
  readonly bytesIn: Counter;
  readonly bytesOut: Counter;
  /** Label `reason`: `late_reply`, `unfinished_chunks` or `not_connected`. */
  readonly dropped: Counter;
  readonly malformed: Counter;
  readonly bounced: Counter;
  readonly handlerErrors: Counter;
  readonly slowConsumers: Counter;
  readonly reconnects: Counter;
}

/** Declares the figures of a bus. */
export function busMetrics(metrics: Metrics, repliesAwaited: () => number): BusMetrics {
  metrics.gauge(
    "baton_bus_replies_awaited",
    "Requests on the bus that have no answer yet.",
    repliesAwaited,
  );
  const counter = (name: string, help: string, labelNames: readonly string[] = []) =>
    metrics.counter(`baton_bus_${name}`, help, labelNames);
  return {
    messagesIn: counter("messages_in_total", "Messages received."),
    messagesOut: counter("messages_out_total", "Messages sent."),
    bytesIn: counter("received_bytes_total", "Payload bytes received."),
    bytesOut: counter("sent_bytes_total", "Payload bytes sent."),
    dropped: counter("dropped_total", "Messages let go, by reason.", ["reason"]),
    malformed: counter("malformed_total", "Messages that could not be decoded."),
    bounced: counter("bounced_total", "Messages that nobody listened for."),
    handlerErrors: counter("handler_errors_total", "Handlers that threw."),
    slowConsumers: counter(
      "slow_consumers_total",
      "Times this member was too slow for its messages.",
    ),
    reconnects: counter("reconnects_total", "Times the connection came back."),
  };
}
