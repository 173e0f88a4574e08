import { createHash } from "node:crypto";

const kinds = { chosen: 1, pass: 2, firstToken: 3, ended: 4, refused: 5 } as const;
const numbersPerEvent = 4;
const eventsPerWrite = 4_096;

/** SHA-256 over every decision and time, in order: two runs with one digest did the same. */
export class EventDigest {
  readonly #hash = createHash("sha256");
  readonly #numbers = new Float64Array(eventsPerWrite * numbersPerEvent);
  #used = 0;

  /** `subject`: the request, or the worker of a pass. `object`: the worker that was chosen, or the tokens of the pass. */
  add(kind: keyof typeof kinds, atMs: number, subject: number, object: number): void {
    const numbers = this.#numbers;
    let at = this.#used;
    numbers[at++] = kinds[kind];
    numbers[at++] = atMs;
    numbers[at++] = subject;
    numbers[at++] = object;
    this.#used = at;
    if (at === numbers.length) this.#write();
  }

  /** The digest as hexadecimal digits. Nothing can be added after it. */
  end(): string {
    this.#write();
    return this.#hash.digest("hex");
  }

  #write(): void {
    const { buffer } = this.#numbers;
    this.#hash.update(new Uint8Array(buffer, 0, this.#used * Float64Array.BYTES_PER_ELEMENT));
    this.#used = 0;
  }
}
