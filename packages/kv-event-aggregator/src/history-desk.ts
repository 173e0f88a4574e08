import type { GetKvHistory, KvHistory, ModelName } from "@baton/protocol";
import type { Clock } from "@baton/runtime";

/** What is asked of a worker. */
export interface WorkerAsk {
  readonly model: ModelName;
  readonly workerId: GetKvHistory["workerId"];
  readonly generation: number;
  readonly dpRank: number;
  /** Null: a dump. */
  readonly from: number | null;
  /** The dump of which another page is wanted; null for a new one. */
  readonly dump: number | null;
  readonly page: number;
}

/** What a follower, or the aggregator itself, wants to know. */
export type DeskAsk = WorkerAsk & Pick<GetKvHistory, "atLeast">;

/** What a desk is given. */
export interface HistoryDeskDeps {
  readonly clock: Clock;
  ask(ask: WorkerAsk): Promise<KvHistory>;
}

/** How much a desk keeps. */
export interface HistoryDeskOptions {
  /** How long a dump answers for its rank, from its last new page on, in ms. */
  readonly keepMs: number;
  /** Most bytes of all dumps that are kept. */
  readonly maxBytes: number;
}

interface KeptDump {
  readonly sequence: number;
  readonly pages: Map<number, KvHistory>;
  readonly beganAtMs: number;
  newestAtMs: number;
  bytes: number;
}

/**
 * Answers for workers, so that many followers that ask for the same cost a worker one answer: who asks while an ask is under way
 * shares it, and the pages of a dump are kept for a moment.
 */
export class HistoryDesk {
  readonly #options: HistoryDeskOptions;
  readonly #deps: HistoryDeskDeps;
  readonly #dumps = new Map<string, KeptDump>();
  readonly #underWay = new Map<string, Promise<KvHistory>>();
  #bytes = 0;
  #asked = 0;

  constructor(options: HistoryDeskOptions, deps: HistoryDeskDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Bytes of dumps that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Asks that went to workers so far. */
  get asked(): number {
    return this.#asked;
  }

  /** The answer. Rejects with what asking the worker rejects with. */
  async answer(ask: DeskAsk): Promise<KvHistory> {
    const kept = this.#kept(ask);
    if (kept !== undefined) return kept;
    const answer = await this.#share(ask);
    // A dump that was under way already may be older than what this asker knows.
    const isTooOld = answer.kind === "dump" && answer.lastSequence < ask.atLeast;
    return isTooOld && ask.from === null && ask.dump === null ? this.#share(ask) : answer;
  }

  /** Lets go of dumps that are too old to answer with. */
  sweep(): void {
    const nowMs = this.#deps.clock.nowMs();
    for (const [rank, dump] of this.#dumps) {
      if (nowMs - dump.newestAtMs > this.#options.keepMs) this.#drop(rank, dump);
    }
  }

  /** Lets go of everything. */
  clear(): void {
    for (const [rank, dump] of this.#dumps) this.#drop(rank, dump);
  }

  #kept(ask: DeskAsk): KvHistory | undefined {
    if (ask.from !== null) return undefined;
    const dump = this.#dumps.get(rankName(ask));
    if (dump === undefined) return undefined;
    if (ask.dump !== null) {
      return ask.dump === dump.sequence ? dump.pages.get(ask.page) : undefined;
    }
    const ageMs = this.#deps.clock.nowMs() - dump.beganAtMs;
    return ageMs <= this.#options.keepMs && dump.sequence >= ask.atLeast
      ? dump.pages.get(0)
      : undefined;
  }

  #share(ask: DeskAsk): Promise<KvHistory> {
    const { from, dump, page } = ask;
    const rank = rankName(ask);
    const name = `${from} ${dump} ${page} ${rank}`;
    const known = this.#underWay.get(name);
    if (known !== undefined) return known;
    this.#asked += 1;
    const answer = this.#deps
      .ask(ask)
      .then((history) => {
        if (history.kind === "dump") this.#keep(rank, history);
        return history;
      })
      .finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, answer);
    return answer;
  }

  #keep(rank: string, page: KvHistory): void {
    const nowMs = this.#deps.clock.nowMs();
    const known = this.#dumps.get(rank);
    const isOfIt = known?.sequence === page.lastSequence;
    if (!isOfIt && page.page !== 0) return;
    if (known !== undefined && !isOfIt) this.#drop(rank, known);
    const dump =
      known !== undefined && isOfIt
        ? known
        : {
            sequence: page.lastSequence,
            pages: new Map<number, KvHistory>(),
            beganAtMs: nowMs,
            newestAtMs: nowMs,
            bytes: 0,
          };
    if (dump.pages.has(page.page)) return;
    const bytes = page.bodies.reduce((sum, body) => sum + body.byteLength, 0);
    dump.pages.set(page.page, page);
    dump.newestAtMs = nowMs;
    dump.bytes += bytes;
    this.#bytes += bytes;
    this.#dumps.delete(rank);
    this.#dumps.set(rank, dump); // the newest is the last
    for (const [oldest, each] of this.#dumps) {
      if (this.#bytes <= this.#options.maxBytes) break;
      this.#drop(oldest, each);
    }
  }

  #drop(rank: string, dump: KeptDump): void {
    this.#dumps.delete(rank);
    this.#bytes -= dump.bytes;
  }
}

function rankName({ workerId, generation, dpRank }: WorkerAsk): string {
  return `${generation} ${dpRank} ${workerId}`;
}
