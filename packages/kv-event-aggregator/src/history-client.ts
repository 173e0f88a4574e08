import type { Subjects } from "@baton/protocol";
import { GetKvEvents, KvHistory, ServingError } from "@baton/protocol";
import type { Bus } from "@baton/runtime";
import { AskQueue } from "./ask-queue.ts";
import type { WorkerAsk } from "./history-desk.ts";

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
  ask(ask: WorkerAsk): Promise<KvHistory> {
    return this.#queue.run(() => this.#request(ask));
  }

  async #request(ask: WorkerAsk): Promise<KvHistory> {
    const { model, workerId, generation, dpRank, from, dump, page } = ask;
    const { bus, subjects, timeoutMs } = this.#options;
    const subject = subjects.worker("get-kv-events", model, workerId);
    const question = GetKvEvents.encode({ dpRank, from, dump, page });
    const answer = KvHistory.decode(await bus.request(subject, question, { timeoutMs }));
    if (answer.generation !== generation || answer.dpRank !== dpRank) {
      throw new ServingError("worker_lost", { workerId, generation, answered: answer.generation });
    }
    return answer;
  }
}
