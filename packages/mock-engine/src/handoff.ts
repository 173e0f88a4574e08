import type { EngineRequest, Rejected } from "./engine-request.ts";
import type { Sequence } from "./sequence.ts";
import type { StepOutputs } from "./step-outputs.ts";

/** Blocks are reserved for a prompt whose KV comes from elsewhere. Missing are the blocks `cachedBlocks`…`totalBlocks`-1. */
export interface HandoffReservation<R extends EngineRequest> {
  readonly request: R;
  /** Leading blocks that are in the cache here already. */
  readonly cachedBlocks: number;
  /** Blocks of the prompt, a partial last one included. */
  readonly totalBlocks: number;
}

/** What became of a prefilled request. `queued`: no room yet; a later pass result has its reservation. */
export type AddPrefilledOutcome<R extends EngineRequest> =
  | { readonly kind: "reserved"; readonly reservation: HandoffReservation<R> }
  | { readonly kind: "queued" }
  | Rejected;

/** What became of a block that was brought. */
export type ImportOutcome =
  | { readonly kind: "imported" }
  | {
      readonly kind: "refused";
      readonly reason: "unknown_handoff" | "not_missing" | "length_mismatch" | "content_mismatch";
    };

/** What became of the word that a prompt's KV is here. */
export type ArrivalOutcome<R extends EngineRequest> =
  /** The first tokens are in `outputs`; the sequences run from the next pass on. `ended`: no sequence goes on. */
  | { readonly kind: "ready"; readonly outputs: StepOutputs<R>; readonly ended: boolean }
  | { readonly kind: "incomplete"; readonly missing: readonly number[] }
  | { readonly kind: "unknown_handoff" };

/** A reservation with the blocks that have come. */
export class PendingImport<R extends EngineRequest> {
  readonly sequence: Sequence<R>;
  readonly reservation: HandoffReservation<R>;
  private readonly blockSize: number;
  private readonly arrived: Uint8Array;

  constructor(sequence: Sequence<R>, blockSize: number) {
    const cachedBlocks = sequence.cachedTokens / blockSize;
    const totalBlocks = Math.ceil(sequence.known / blockSize);
    this.sequence = sequence;
    this.blockSize = blockSize;
    this.reservation = { request: sequence.request, cachedBlocks, totalBlocks };
    this.arrived = new Uint8Array(totalBlocks).fill(1, 0, cachedBlocks);
  }

  /** Takes a block if it has just the token ids that the prompt has there. */
  import(index: number, bytes: Uint8Array): ImportOutcome {
    const { cachedBlocks, totalBlocks, request } = this.reservation;
    if (!Number.isInteger(index) || index < cachedBlocks || index >= totalBlocks) {
      return { kind: "refused", reason: "not_missing" };
    }
    const expected = blockTokens(request.promptTokens, index, this.blockSize);
    if (bytes.length !== expected.length * 4) return { kind: "refused", reason: "length_mismatch" };
    if (!holdsTokens(bytes, expected)) return { kind: "refused", reason: "content_mismatch" };
    this.arrived[index] = 1;
    return { kind: "imported" };
  }

  /** Blocks that have not come, rising. */
  missing(): number[] {
    const missing: number[] = [];
    for (let index = 0; index < this.arrived.length; index++) {
      if (this.arrived[index] === 0) missing.push(index);
    }
    return missing;
  }
}

/** The simulated KV of block `index` of a prompt: its token ids, little-endian u32. The last block may be shorter. */
export function simulatedKv(
  promptTokens: Uint32Array,
  index: number,
  blockSize: number,
): Uint8Array {
  const tokens = blockTokens(promptTokens, index, blockSize);
  const bytes = new Uint8Array(tokens.length * 4);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < tokens.length; i++) view.setUint32(i * 4, tokens[i]!, true);
  return bytes;
}

function blockTokens(promptTokens: Uint32Array, index: number, blockSize: number): Uint32Array {
  return promptTokens.subarray(index * blockSize, (index + 1) * blockSize);
}

function holdsTokens(bytes: Uint8Array, tokens: Uint32Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < tokens.length; i++) {
    if (view.getUint32(i * 4, true) !== tokens[i]) return false;
  }
  return true;
}
