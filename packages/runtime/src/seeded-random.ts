import { createHash } from "node:crypto";
import { toBase32 } from "@baton/protocol";
import { idBytes, type Random } from "./random.ts";

const warmUpRounds = 12;

/**
 * Repeatable randomness: sfc32, the 32-bit small fast counter generator of Chris Doty-Humphrey's PractRand (its
 * shifts are 21, 9 and 3), with the first 96 bits of the seed's SHA-256 as its state. Not fit for secrets.
 */
export class SeededRandom implements Random {
  /** The seed's name; forks append to it. */
  readonly seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number | string) {
    this.seed = String(seed);
    const digest = createHash("sha256").update(this.seed, "utf8").digest();
    this.#a = digest.readUInt32LE(0) | 0;
    this.#b = digest.readUInt32LE(4) | 0;
    this.#c = digest.readUInt32LE(8) | 0;
    for (let round = 0; round < warmUpRounds; round++) this.u32();
  }

  /** A generator of its own for `label`. It depends on this one's seed only, not on what was drawn from it. */
  fork(label: string): SeededRandom {
    return new SeededRandom(`${this.seed}/${label}`);
  }

  number(): number {
    return ((this.u32() >>> 5) * 2 ** 26 + (this.u32() >>> 6)) / 2 ** 53;
  }

  u32(): number {
    const word = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + word;
    this.#c |= 0;
    return word >>> 0;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let index = 0; index < length; index++) bytes[index] = this.u32() & 0xff;
    return bytes;
  }

  id(prefix: string): string {
    return `${prefix}-${toBase32(this.bytes(idBytes))}`;
  }
}
