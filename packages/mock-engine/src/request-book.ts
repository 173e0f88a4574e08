import type { BlockHasher } from "./block-hasher.ts";
import type { BlockPool } from "./block-pool.ts";
import type { EngineRequest, RequestKind } from "./engine-request.ts";
import { hashPrompt, type RequestGroup, releaseKv, Sequence } from "./sequence.ts";

/** The requests that the engine holds, and the life of their sequences from the first to the last. */
export class RequestBook<R extends EngineRequest> {
  private readonly groups = new Map<string, RequestGroup<R>>();
  private readonly pool: BlockPool;
  private readonly hasher: BlockHasher;

  constructor(pool: BlockPool, hasher: BlockHasher) {
    this.pool = pool;
    this.hasher = hasher;
  }

  has(id: string): boolean {
    return this.groups.has(id);
  }

  find(id: string): RequestGroup<R> | undefined {
    return this.groups.get(id);
  }

  /** Enters a request. Its one sequence stands for all choices until the fork. */
  open(request: R, kind: RequestKind, firstTokens: readonly number[]): Sequence<R> {
    const group: RequestGroup<R> = {
      request,
      kind,
      sequences: [],
      cancelledChoices: undefined,
      firstTokens,
      prefillReported: false,
    };
    const sequence = new Sequence(group, 0, kind === "decode" ? "queued" : "waiting");
    group.sequences.push(sequence);
    this.groups.set(request.id, group);
    if (this.pool.prefixCaching) hashPrompt(sequence, this.pool.blockSize, this.hasher);
    return sequence;
  }

  /** Splits a computed prompt into one sequence per choice, the given one first; they share its blocks. */
  fork(sequence: Sequence<R>): Sequence<R>[] {
    const count = sequence.slots;
    sequence.slots = 1;
    const forks = [sequence];
    for (let choice = 1; choice < count; choice++) {
      const fork = new Sequence(sequence.group, choice, "running", sequence);
      for (const id of fork.blocks) this.pool.acquire(id);
      sequence.group.sequences.push(fork);
      forks.push(fork);
    }
    return forks;
  }

  /** Gives back what a sequence holds and forgets it. True if it was the last of its request. */
  forget(sequence: Sequence<R>): boolean {
    const { group } = sequence;
    releaseKv(sequence, this.pool);
    sequence.moveTo("ended");
    group.sequences.splice(group.sequences.indexOf(sequence), 1);
    if (group.sequences.length > 0) return false;
    this.groups.delete(group.request.id);
    return true;
  }
}
