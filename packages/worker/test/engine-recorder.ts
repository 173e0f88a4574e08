import type { KvEvent, RequestId, ServingError } from "@baton/protocol";
import { expect } from "vitest";
import type { EngineEvents, EngineJob, PrefillResult, StepOutput } from "../src/engine.ts";

/** What an engine has told, in its own order. */
export class EngineRecorder implements EngineEvents {
  readonly outputs = new Map<RequestId, StepOutput[]>();
  readonly prefilled = new Map<RequestId, PrefillResult>();
  readonly failed = new Map<RequestId, ServingError>();
  readonly kv: KvModel = new KvModel();
  calls = 0;

  onStep(outputs: readonly StepOutput[]): void {
    this.calls++;
    for (const output of outputs) {
      const known = this.outputs.get(output.requestId) ?? [];
      this.outputs.set(output.requestId, [...known, output]);
    }
  }

  onPrefilled(result: PrefillResult): void {
    this.calls++;
    this.prefilled.set(result.requestId, result);
  }

  onFailed(id: RequestId, error: ServingError): void {
    this.calls++;
    this.failed.set(id, error);
  }

  onKvEvents(_dpRank: number, events: readonly KvEvent[]): void {
    this.calls++;
    this.kv.apply(events);
  }

  onLost(): void {
    this.calls++;
  }

  onRestored(): void {
    this.calls++;
  }

  outputsOf(job: { readonly requestId: RequestId }): StepOutput[] {
    return this.outputs.get(job.requestId) ?? [];
  }

  /** Every choice has ended, or the request has failed. */
  isOver(job: EngineJob): boolean {
    const ends = this.outputsOf(job).filter((output) => output.finish !== null).length;
    return ends === (job.params.n ?? 1) || this.failed.has(job.requestId);
  }
}

/** The blocks that events speak of. A block whose parent is not known is a mistake. */
export class KvModel {
  readonly #blocks = new Set<string>();

  apply(events: readonly KvEvent[]): void {
    for (const event of events) {
      if (event.kind === "cleared") this.#blocks.clear();
      else if (event.kind === "removed") {
        for (const hash of hashesOf(event.sequenceHashes)) this.#blocks.delete(hash);
      } else {
        if (event.parent !== null) expect(this.#blocks).toContain(hashesOf(event.parent)[0]);
        expect(event.blockHashes).toHaveLength(event.sequenceHashes.length);
        for (const hash of hashesOf(event.sequenceHashes)) this.#blocks.add(hash);
      }
    }
  }

  blocks(): string[] {
    return [...this.#blocks].sort();
  }
}

function hashesOf(bytes: Uint8Array): string[] {
  const hashes: string[] = [];
  for (let at = 0; at < bytes.length; at += 8) {
    hashes.push(Buffer.from(bytes.subarray(at, at + 8)).toString("hex"));
  }
  return hashes;
}

export function tokensOf(outputs: readonly StepOutput[]): number[] {
  return outputs.flatMap((output) => output.tokens);
}
