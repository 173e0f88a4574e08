/** Hot path: `mark` once per entry of a frame, one flush for all that came together. Budget 1 µs a stream beside the sink. */
import { ServingError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import type { RelayedRequest } from "./relayed-request.ts";

/**
 * Gives out text once per turn of the loop: tokens of one stream that came in several frames meanwhile share a write.
 */
export class OutputPump {
  readonly #clock: Clock;
  readonly #onOutput: (request: RelayedRequest, nowMs: number) => void;
  #dirty: RelayedRequest[] = [];
  #isScheduled = false;

  /** `onOutput` is told after each piece of output that a sink has taken. */
  constructor(clock: Clock, onOutput: (request: RelayedRequest, nowMs: number) => void) {
    this.#clock = clock;
    this.#onOutput = onOutput;
  }

  /** Output has come for a request. */
  mark(request: RelayedRequest): void {
    if (request.isDirty) return;
    request.isDirty = true;
    this.#dirty.push(request);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    void this.#clock.yield().then(() => this.flush());
  }

  /** Gives out what is due, and ends the requests whose last text that was. */
  flush(): void {
    this.#isScheduled = false;
    const dirty = this.#dirty;
    this.#dirty = [];
    for (const request of dirty) {
      request.isDirty = false;
      if (request.isEnded) continue;
      this.write(request);
      if (request.output?.isClosed) request.send({ type: "finished" });
    }
  }

  /** Gives out what is due of one request. */
  write(request: RelayedRequest): void {
    try {
      const deltas = request.output?.take() ?? [];
      if (deltas.length === 0) return;
      request.begin();
      request.sink.output(deltas);
    } catch (error) {
      request.send({ type: "failed", error: ServingError.from(error) });
      return;
    }
    this.#onOutput(request, this.#clock.nowMs());
  }
}
