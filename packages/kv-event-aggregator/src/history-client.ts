import type { Subjects } from "@baton/protocol";
import { GetKvEvents, KvHistory, ServingError } from "@baton/protocol";
import type { Bus } from "@baton/runtime";
import { AskQueue } from "./ask-queue.ts";
import type { SourceAsk } from "./source/source-table.ts";

/** What a client is given. */
export interface HistoryClientOptions {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly maxWaiting: number;
}

/** Asks workers for batches and dumps, a few at a time. */
export class HistoryClient {
  readonly #options: HistoryClientOptions;
  readonly #queue: AskQueue;

  constructor(options: HistoryClientOptions) {
    this.#options = options;
    this.#queue = new AskQueue(options);
  }

  /**
   * The worker's answer. Rejects with what a request rejects with, and with `worker_lost` if another generation
   * answers than the one that was meant.
   */
  ask(ask: SourceAsk): Promise<KvHistory> {
    return this.#queue.run(() => this.#request(ask));
  }

  async #request({ model, workerId, generation, dpRank, from }: SourceAsk): Promise<KvHistory> {
    const { bus, subjects, timeoutMs } = this.#options;
    const subject = subjects.worker("get-kv-events", model, workerId);
    const bytes = await bus.request(subject, GetKvEvents.encode({ dpRank, from }), { timeoutMs });
    const answer = KvHistory.decode(bytes);
    if (answer.generation !== generation || answer.dpRank !== dpRank) {
      throw new ServingError("worker_lost", { workerId, generation, answered: answer.generation });
    }
    return answer;
  }
}
