import { ServingError } from "@baton/protocol";
import type { Bus, Counter, Metrics } from "@baton/runtime";
import type { Logger } from "pino";

/** What a publisher is given. */
export interface PublisherDeps {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Publishes, and answers with the error instead of throwing it: an engine's step must not end because the bus is gone. */
export class Publisher {
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #unsent: Counter;

  constructor(deps: PublisherDeps) {
    this.#bus = deps.bus;
    this.#log = deps.log;
    this.#unsent = deps.metrics.counter(
      "baton_worker_messages_unsent_total",
      "Messages that the bus did not take, by error code.",
      ["code"],
    );
  }

  /** Null if the bus took it. */
  publish(subject: string, payload: Uint8Array): ServingError | null {
    try {
      this.#bus.publish(subject, payload);
      return null;
    } catch (caught) {
      const error = ServingError.from(caught);
      this.#unsent.add(1, { code: error.code });
      if (this.#log.isLevelEnabled("debug")) {
        this.#log.debug({ subject, err: error }, "message not sent");
      }
      return error;
    }
  }
}
