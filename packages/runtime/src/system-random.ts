import { randomBytes, randomFillSync } from "node:crypto";
import { toBase32 } from "@baton/protocol";
import { idBytes, type Random } from "./random.ts";

/** Drawn at once: a call of the system for every few bytes costs more than the bytes. */
const poolBytes = 4_096;
/** Longer wishes go to the system themselves. */
const mostPooled = 64;

/** The system's randomness, fit for secrets. */
export class SystemRandom implements Random {
  readonly #pool = new Uint8Array(poolBytes);
  #next = poolBytes;

  number(): number {
    return ((this.u32() >>> 5) * 2 ** 26 + (this.u32() >>> 6)) / 2 ** 53;
  }

  u32(): number {
    const [first = 0, second = 0, third = 0, fourth = 0] = this.bytes(4);
    return ((first << 24) | (second << 16) | (third << 8) | fourth) >>> 0;
  }

  bytes(length: number): Uint8Array {
    if (length > mostPooled) return new Uint8Array(randomBytes(length));
    if (this.#next + length > poolBytes) {
      randomFillSync(this.#pool);
      this.#next = 0;
    }
    const bytes = this.#pool.slice(this.#next, this.#next + length);
    // What was given out is nobody else's to find here.
    this.#pool.fill(0, this.#next, this.#next + length);
    this.#next += length;
    return bytes;
  }

  id(prefix: string): string {
    return `${prefix}-${toBase32(this.bytes(idBytes))}`;
  }
}
