import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { refusal } from "./error-body.ts";

/** How a body may be folded. */
export type ContentCoding = "gzip" | "deflate" | "br";

/** The codings that are taken, as the `accept-encoding` header of a refusal says them. */
export const contentCodings = "gzip, deflate, br";

const chunkSize = 64 * 1024;
/** Bodies that are unfolded at once: each may become as large as a body may be, whatever it took to send. */
const mostAtOnce = 4;

/** Unfolds bodies, a few at a time; others wait as they were sent. */
export class Unfolder {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** As `unfold`; null if it is not wanted any more when its turn has come. */
  async unfold(
    coding: ContentCoding,
    bytes: Buffer,
    maxBytes: number,
    isWanted: () => boolean,
  ): Promise<Buffer | null> {
    if (this.#running >= mostAtOnce) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return isWanted() ? await unfold(coding, bytes, maxBytes) : null;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

/**
 * Unfolds a body, off the event loop. Rejects with `payload_too_large` as soon as it passes `maxBytes`, and with
 * `invalid_request` if it is not what its coding says.
 */
export function unfold(coding: ContentCoding, bytes: Buffer, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { maxOutputLength: maxBytes, chunkSize };
    const done = (error: NodeJS.ErrnoException | null, unfolded: Buffer): void => {
      if (error === null) resolve(unfolded);
      else if (error.code === "ERR_BUFFER_TOO_LARGE") reject(tooLarge(maxBytes));
      else
        reject(refusal("invalid_request", `the body is not ${coding}, as content-encoding says`));
    };
    if (coding === "gzip") gunzip(bytes, options, done);
    else if (coding === "deflate") inflate(bytes, options, done);
    else brotliDecompress(bytes, options, done);
  });
}

/** The refusal of a body that is larger than it may be. */
export function tooLarge(maxBytes: number) {
  return refusal("payload_too_large", `the body is over ${maxBytes} bytes`);
}
