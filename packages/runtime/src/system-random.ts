import { randomBytes, randomFillSync } from "node:crypto";
import { toBase32 } from "@baton/protocol";
import { idBytes, type Random } from "./random.ts";

const poolWords = 1_024;

/** The system's randomness, fit for secrets. */
export class SystemRandom implements Random {
  readonly #pool = new Uint32Array(poolWords);
  #next = poolWords;

  number(): number {
    return ((this.u32() >>> 5) * 2 ** 26 + (this.u32() >>> 6)) / 2 ** 53;
  }

  u32(): number {
    if (this.#next === poolWords) {
      randomFillSync(this.#pool);
      this.#next = 0;
    }
    const word = this.#pool[this.#next] ?? 0;
    this.#pool[this.#next] = 0;
    this.#next += 1;
    return word;
  }

  bytes(length: number): Uint8Array {
    return new Uint8Array(randomBytes(length));
  }

  id(prefix: string): string {
    return `${prefix}-${toBase32(this.bytes(idBytes))}`;
  }
}
