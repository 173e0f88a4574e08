/** What the engine knows of one request. */

import { ServingError, type TokenLogprobs } from "@baton/protocol";
import type { EngineJob, ImportJob, ImportPlan, KvPart } from "../../engine.ts";
import type { BlockChain } from "./block-chain.ts";
import type { StoredBlock } from "./block-store.ts";
import type { RunOutput } from "./child-protocol.ts";
import { Deferred } from "./deferred.ts";
import type { Sampling } from "./sampling.ts";
import type { Slot } from "./slot-table.ts";

/** KV that comes from elsewhere, as far as it is here. */
export interface Import {
  readonly job: ImportJob;
  readonly plan: Deferred<ImportPlan>;
  /** Settled by `decode`. */
  readonly arrived: Deferred<void>;
  /** By index of the block. */
  readonly blocks: (StoredBlock | undefined)[];
  tail: Uint8Array | undefined;
  /** The plan is given: from here on a failure is told by an event. */
  isPrepared: boolean;
}

export class LlamaRequest {
  readonly job: EngineJob;
  /** The prompt, and the output of the choice that runs. */
  chain: BlockChain;
  readonly sampling: Sampling;
  readonly kind: "prefill" | "generate" | "import";
  readonly import: Import | undefined;
  /** Store blocks promised to it. */
  reserved = 0;
  slot: Slot | undefined;
  run: number | undefined;
  cachedTokens = 0;
  /** Whether its prompt is computed, here or elsewhere. */
  hasOutput = false;
  /** By choice, of a prompt that is computed here. */
  readonly firstOutputs: RunOutput[] = [];
  /** Those of its prompt so far; null if it does not ask. */
  readonly promptLogprobs: TokenLogprobs[] | null;
  #ended: ServingError | undefined;
  #waits: Deferred<never> | undefined;

  constructor(
    kind: LlamaRequest["kind"],
    job: EngineJob,
    chain: BlockChain,
    sampling: Sampling,
    importJob?: ImportJob,
  ) {
    this.kind = kind;
    this.job = job;
    this.chain = chain;
    this.sampling = sampling;
    this.promptLogprobs = job.params.promptLogprobs === undefined ? null : [];
    if (importJob !== undefined) {
      this.import = {
        job: importJob,
        plan: new Deferred(),
        arrived: new Deferred(),
        blocks: [],
        tail: undefined,
        isPrepared: false,
      };
    }
  }

  get promptTokens(): number {
    return this.job.tokens.length;
  }

  /** Choices that are wanted. */
  get choices(): number {
    return this.job.params.n ?? 1;
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Nobody wants it any more. What it waits for rejects, and `check` throws from here on. */
  end(error: ServingError): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    this.#waits?.reject(error);
    this.import?.plan.reject(error);
  }

  /** Throws if the request has ended: to be called after every wait. */
  check(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }

  /** Waits for the promise, or for the request's end. */
  async orEnd<T>(promise: Promise<T>): Promise<T> {
    this.check();
    this.#waits ??= new Deferred<never>();
    const result = await Promise.race([promise, this.#waits.promise]);
    this.check();
    return result;
  }
}

/** Whether a part's size is right; throws `kv_transfer_failed` if not. */
export function checkPartBytes(part: KvPart, bytes: number, expected: number): void {
  if (bytes === expected) return;
  const problem = `part ${part} has ${bytes} bytes instead of ${expected}`;
  throw new ServingError("kv_transfer_failed", { problem });
}
