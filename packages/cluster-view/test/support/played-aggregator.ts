import {
  GetKvHistory,
  type KvEvent,
  KvFeed,
  KvHistory,
  KvPositions,
  modelName,
  packKvEvents,
  workerId,
} from "@baton/protocol";
import type { MemoryCluster } from "@baton/testing";

export const model = modelName("m");

/** The 8 bytes of the hashes of blocks. */
export function hashes(...blocks: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(8 * blocks.length);
  const view = new DataView(bytes.buffer);
  blocks.forEach((block, at) => {
    view.setUint32(8 * at, block, true);
  });
  return bytes;
}

/** A run of blocks that begins a prompt. */
export function stored(...blocks: readonly number[]): KvEvent {
  const run = hashes(...blocks);
  return { kind: "stored", parent: null, blockHashes: run, sequenceHashes: run };
}

/** An aggregator with one worker `w` of generation 1, as the test plays it. */
export class PlayedAggregator {
  readonly bus: ReturnType<MemoryCluster["bus"]>;
  /** What it was asked. */
  readonly questions: GetKvHistory[] = [];
  positionsAsked = 0;
  /** What it says that the worker holds. */
  blocks: readonly number[] = [];
  sequence: number | null = 0;
  pageBlocks = 1_000;
  answers = true;
  epoch = 1;
  feedSequence = 0;
  readonly #subject: string;

  constructor(cluster: MemoryCluster, id = "agg") {
    const { subjects } = cluster;
    this.bus = cluster.bus(id);
    this.#subject = subjects.kvFeed(model);
    this.bus.subscribe(subjects.getKvPositions(model), (message) => {
      this.positionsAsked += 1;
      if (this.answers) message.respond(KvPositions.encode(this.#positions()));
    });
    this.bus.subscribe(subjects.getKvHistory(model), (message) => {
      const question = GetKvHistory.decode(message.payload);
      this.questions.push(question);
      if (this.answers) message.respond(KvHistory.encode(this.#dump(question)));
    });
  }

  /** Tells of more blocks of the worker, each batch with one. */
  store(...blocks: readonly number[]): void {
    for (const block of blocks) {
      this.blocks = [...this.blocks, block];
      this.sequence = (this.sequence ?? 0) + 1;
      this.say("batch", { sequence: this.sequence, events: packKvEvents([stored(block)]) });
    }
  }

  say(kind: KvFeed["kind"], changes: Partial<KvFeed> = {}): void {
    this.feedSequence += 1;
    const { epoch, feedSequence } = this;
    const about = { workerId: workerId("w"), generation: 1, dpRank: 0, sequence: 0 };
    const entry = { epoch, feedSequence, kind, ...about, events: new Uint8Array(), ...changes };
    this.bus.publish(this.#subject, KvFeed.encode(entry));
  }

  sayNonsense(): void {
    this.bus.publish(this.#subject, Uint8Array.of(0xc1));
  }

  #positions(): KvPositions {
    const { epoch, feedSequence, sequence } = this;
    const rank = { workerId: workerId("w"), generation: 1, dpRank: 0, sequence };
    return { epoch, feedSequence, ranks: [rank] };
  }

  #dump({ dpRank, page }: GetKvHistory): KvHistory {
    const from = page * this.pageBlocks;
    const part = this.blocks.slice(from, from + this.pageBlocks);
    return {
      workerId: workerId("w"),
      generation: 1,
      dpRank,
      lastSequence: this.sequence ?? 0,
      kind: "dump",
      bodies: [packKvEvents(part.map((block) => stored(block)))],
      page,
      next: from + this.pageBlocks < this.blocks.length ? page + 1 : null,
    };
  }
}
