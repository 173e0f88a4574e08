import { transferMs } from "@baton/mock-engine";
import { ServingError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import type { KvPart, StagedKv } from "../../engine.ts";

/** KV bytes a token of an 8-billion-parameter model: what transfer times are computed with. */
export const simulatedBytesPerToken = 131_072;
/** Delays below this are added up: a timer takes about so long. */
const shortestSleepMs = 1;

/** What a staged prompt is made from. */
export interface StagedPromptDeps {
  readonly clock: Clock;
  readonly blockSize: number;
  readonly promptTokens: number;
  /** Gigabytes a second; 0 for no delay. */
  readonly transferGbps: number;
  /** The simulated KV of one block, the partial last one included; undefined if it is gone. */
  readonly exportBlock: (index: number) => Uint8Array | undefined;
}

/** A prompt's simulated KV, given out at the speed of a link. Its real bytes are the token ids. */
export class StagedPrompt implements StagedKv {
  readonly blocks: number;
  readonly hasTail: boolean;
  readonly bytes: number;
  readonly #deps: StagedPromptDeps;
  #owedMs = 0;

  constructor(deps: StagedPromptDeps) {
    this.#deps = deps;
    this.blocks = Math.floor(deps.promptTokens / deps.blockSize);
    this.hasTail = deps.promptTokens % deps.blockSize !== 0;
    this.bytes = deps.promptTokens * 4;
  }

  async read(part: KvPart): Promise<Uint8Array> {
    const bytes = this.#deps.exportBlock(part === "tail" ? this.blocks : part);
    if (bytes === undefined) {
      throw new ServingError("kv_transfer_failed", { problem: "the staged KV is gone" });
    }
    const tokens = bytes.length / 4;
    this.#owedMs += transferMs(tokens, simulatedBytesPerToken, this.#deps.transferGbps);
    if (this.#owedMs >= shortestSleepMs) {
      const delayMs = this.#owedMs;
      this.#owedMs = 0;
      await this.#deps.clock.sleep(delayMs);
    }
    return bytes;
  }
}
