import type { BlockHasher } from "./block-hasher.ts";
import type { BlockPool } from "./block-pool.ts";
import { noBlock } from "./block-pool.ts";
import type { EngineRequest, RequestKind } from "./engine-request.ts";
import { HashChain } from "./hash-chain.ts";

/**
 * `queued`: a decode request whose blocks are not reserved yet. `reserved`: its blocks are, and its KV is on the way.
 * `waiting`, `running`: as in continuous batching. `staged`: prefilled, held for another worker.
 */
export type SequencePhase = "queued" | "reserved" | "waiting" | "running" | "staged" | "ended";

/** The moves between phases; a preempted sequence goes from `running` to `waiting`. */
export const nextSequencePhases: Readonly<Record<SequencePhase, readonly SequencePhase[]>> = {
  queued: ["reserved", "ended"],
  reserved: ["running", "ended"],
  waiting: ["running", "ended"],
  running: ["waiting", "staged", "ended"],
  staged: ["ended"],
  ended: [],
};

/** A request and those of its sequences that live. Before the fork there is one, which stands for all. */
export interface RequestGroup<R extends EngineRequest> {
  readonly request: R;
  readonly kind: RequestKind;
  readonly sequences: Sequence<R>[];
  /** Choices that were cancelled before the fork. */
  cancelledChoices: Set<number> | undefined;
  /** First tokens that came with a handoff. */
  readonly firstTokens: readonly number[];
  /** Whether the end of the prompt's prefill was reported; a recompute after preemption is not reported. */
  prefillReported: boolean;
}

/** One sequence: its tokens, how far its KV is computed, and the blocks that hold it. */
export class Sequence<R extends EngineRequest> {
  readonly group: RequestGroup<R>;
  /** Which choice of the request, 0…n-1. */
  readonly choice: number;
  phase: SequencePhase;
  /** Prompt and output tokens; `known` of them count. */
  tokens: Uint32Array;
  known: number;
  /** Tokens whose KV is computed, or will be when the pass ends. */
  computed = 0;
  /** Output tokens so far. */
  generated = 0;
  /** Tokens found in the cache at the latest admission. */
  cachedTokens = 0;
  /** The same at the first: what a preempted sequence finds of its own when it comes back was not saved by anybody. */
  firstCachedTokens: number | undefined;
  /** Running sequences that this one becomes: n before the fork, then 1. A prefill never forks. */
  slots: number;
  /** Tokens that the pass computes; 0 when it is left out or no pass runs. */
  scheduled = 0;
  /** True from admission until everything known is computed. */
  prefilling = false;
  readonly blocks: number[];
  /** Blocks of `blocks` that were offered for reuse. */
  committed = 0;
  readonly chain: HashChain;

  constructor(group: RequestGroup<R>, choice: number, phase: SequencePhase, from?: Sequence<R>) {
    this.group = group;
    this.choice = choice;
    this.phase = phase;
    const forksLater = from === undefined && group.kind !== "prefill";
    this.slots = forksLater ? group.request.plans.length : 1;
    const prompt = from === undefined ? group.request.promptTokens : from.tokens;
    this.known = from === undefined ? prompt.length : from.known;
    this.tokens = new Uint32Array(this.known + Math.min(64, group.request.rules.maxTokens));
    this.tokens.set(prompt.subarray(0, this.known));
    this.blocks = from === undefined ? [] : from.blocks.slice();
    this.chain = from === undefined ? new HashChain() : from.chain.copy();
    this.computed = from?.computed ?? 0;
    this.committed = from?.committed ?? 0;
    this.cachedTokens = from?.cachedTokens ?? 0;
    this.firstCachedTokens = from?.firstCachedTokens;
  }

  get request(): R {
    return this.group.request;
  }

  /** Moves on to a phase that may follow. */
  moveTo(phase: SequencePhase): void {
    if (!nextSequencePhases[this.phase].includes(phase)) {
      throw new Error(`sequence of ${this.request.id} cannot go from ${this.phase} to ${phase}`);
    }
    this.phase = phase;
  }

  /** Appends an output token. */
  append(token: number): void {
    if (this.known === this.tokens.length) {
      const larger = new Uint32Array(this.known * 2);
      larger.set(this.tokens);
      this.tokens = larger;
    }
    this.tokens[this.known++] = token;
    this.generated++;
  }
}

/** Takes the prompt's hashes from the request, or computes them. */
export function hashPrompt<R extends EngineRequest>(
  sequence: Sequence<R>,
  blockSize: number,
  hasher: BlockHasher,
): void {
  const { promptHashes, promptTokens, hashSeed } = sequence.request;
  if (promptHashes !== undefined) {
    sequence.chain.appendBytes(promptHashes.blockHashes, promptHashes.sequenceHashes);
    return;
  }
  if (promptTokens.length >= blockSize)
    sequence.chain.appendTokens(promptTokens, blockSize, hasher, hashSeed);
}

/**
 * Takes as many leading blocks from the cache as match, at most `limit`. Nothing is acquired: the ids are appended to
 * `found`, and the number of those that are active already is returned.
 */
export function matchPrefix<R extends EngineRequest>(
  sequence: Sequence<R>,
  pool: BlockPool,
  limit: number,
  found: number[],
): number {
  found.length = 0;
  if (!pool.prefixCaching) return 0;
  let active = 0;
  let parent = noBlock;
  const end = Math.min(limit, sequence.chain.count);
  for (let position = 0; position < end; position++) {
    const id = pool.find(parent, sequence.chain, position, sequence.tokens);
    if (id === noBlock) break;
    if (pool.referencesOf(id) > 0) active++;
    found.push(id);
    parent = id;
  }
  return active;
}

/** Acquires the matched blocks as the beginning of a sequence that holds none. */
export function adoptPrefix<R extends EngineRequest>(
  sequence: Sequence<R>,
  pool: BlockPool,
  found: readonly number[],
): void {
  for (const id of found) {
    pool.acquire(id);
    sequence.blocks.push(id);
  }
  sequence.committed = found.length;
  sequence.computed = found.length * pool.blockSize;
  sequence.cachedTokens = sequence.computed;
  sequence.firstCachedTokens ??= sequence.computed;
}

/** Takes blocks until they cover `tokens`. False if the pool has none left; what was taken stays. */
export function coverTokens<R extends EngineRequest>(
  sequence: Sequence<R>,
  pool: BlockPool,
  tokens: number,
): boolean {
  if (!ownTail(sequence, pool)) return false;
  while (sequence.blocks.length * pool.blockSize < tokens) {
    const id = pool.allocate();
    if (id === noBlock) return false;
    sequence.blocks.push(id);
  }
  return true;
}

/** A partial block that is shared with a fork is copied before it is written. */
function ownTail<R extends EngineRequest>(sequence: Sequence<R>, pool: BlockPool): boolean {
  if (sequence.computed % pool.blockSize === 0) return true;
  const tail = Math.floor(sequence.computed / pool.blockSize);
  const shared = sequence.blocks[tail]!;
  if (pool.referencesOf(shared) === 1) return true;
  const id = pool.allocate();
  if (id === noBlock) return false;
  pool.release(shared);
  sequence.blocks[tail] = id;
  return true;
}

/** Offers for reuse the blocks that are complete by now. */
export function commitComplete<R extends EngineRequest>(
  sequence: Sequence<R>,
  pool: BlockPool,
  hasher: BlockHasher,
): void {
  if (!pool.prefixCaching) return;
  const complete = Math.floor(sequence.computed / pool.blockSize);
  for (let position = sequence.committed; position < complete; position++) {
    if (position >= sequence.chain.count) hashBlock(sequence, position, pool.blockSize, hasher);
    const parent = position === 0 ? noBlock : sequence.blocks[position - 1]!;
    const own = sequence.blocks[position]!;
    sequence.blocks[position] = pool.commit(own, parent, sequence.chain, position, sequence.tokens);
  }
  sequence.committed = Math.max(sequence.committed, complete);
}

function hashBlock<R extends EngineRequest>(
  sequence: Sequence<R>,
  position: number,
  blockSize: number,
  hasher: BlockHasher,
): void {
  const tokens = sequence.tokens.subarray(position * blockSize, (position + 1) * blockSize);
  sequence.chain.appendTokens(tokens, blockSize, hasher, sequence.request.hashSeed);
}

/** Gives back all KV. Tokens and hashes stay, so that the sequence can be computed again. */
export function releaseKv<R extends EngineRequest>(sequence: Sequence<R>, pool: BlockPool): void {
  pool.releaseAll(sequence.blocks);
  sequence.committed = 0;
  sequence.computed = 0;
  sequence.scheduled = 0;
}
