// Hot path: a few frames per request and one per MiB of KV. Budget 5 µs a small frame.
import { ServingError } from "@baton/protocol";

/**
 * The kinds of frames on a transfer connection. Puller to source: `pull`, `finish`. Source to puller: the rest.
 * A connection carries one pull at a time, and the next one after its `finish`.
 */
export const frameKind = {
  /** msgpack `[version, handoffId, secret, blocks (u32 LE each), tail]`. */
  pull: 1,
  /** u8: 0 all taken, 1 cancelled, 2 refused what arrived. */
  finish: 2,
  /** u32 part (`tailPart` for the tail), u32 size. Its chunks follow, then `sum`. */
  part: 3,
  /** At most 1 MiB of the part. */
  chunk: 4,
  /** u32 CRC-32 of the part. */
  sum: 5,
  /** Every part was sent. */
  done: 6,
  /** msgpack of the wire error. Nothing follows. */
  failed: 7,
} as const;

/** A puller's last word in a `finish` frame. */
export const finishOutcome = { taken: 0, cancelled: 1, refused: 2 } as const;

/** Stands for the tail where a part is a number. */
export const tailPart = 0xffff_ffff;
/** The protocol's version, in each `pull`. */
export const transferVersion = 1;
/** Largest body of a frame, and so of a chunk. */
export const maxFrameBytes = 1 << 20;
const headBytes = 5;

/** A whole frame: u32 body length, u8 kind, body. */
export function encodeFrame(kind: number, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + body.length);
  frame.writeUInt32LE(body.length, 0);
  frame[4] = kind;
  frame.set(body, headBytes);
  return frame;
}

/** A frame whose body is u32 numbers. */
export function encodeNumbers(kind: number, ...numbers: readonly number[]): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + numbers.length * 4);
  frame.writeUInt32LE(numbers.length * 4, 0);
  frame[4] = kind;
  let at = headBytes;
  for (const number of numbers) at = frame.writeUInt32LE(number, at);
  return frame;
}

/** A `finish` frame. */
export function encodeFinish(outcome: number): Buffer {
  return encodeFrame(frameKind.finish, Uint8Array.of(outcome));
}

/** Just the head of a frame, for a body that is written after it without a copy. */
export function encodeHead(kind: number, bodyBytes: number): Buffer {
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt32LE(bodyBytes, 0);
  head[4] = kind;
  return head;
}

/**
 * Cuts a byte stream into frames. `onFrame` may call `hold`: what follows is kept until `resume`. The body is valid
 * during the call only.
 */
export class FrameReader {
  readonly #onFrame: (kind: number, body: Buffer) => void;
  readonly #bodyFor: (kind: number, bytes: number) => Buffer | null;
  /** Bytes that are not handed out yet; at most one frame and one read of the socket. */
  #pending: Buffer = Buffer.alloc(0);
  /** A body that arrives in pieces, and how much of it is here. */
  #body: Buffer | null = null;
  #bodyFill = 0;
  #kind = 0;
  #held = false;

  /** `bodyFor` may give the place where a body that arrives in pieces is put together: one copy less for large ones. */
  constructor(
    onFrame: (kind: number, body: Buffer) => void,
    bodyFor: (kind: number, bytes: number) => Buffer | null = () => null,
  ) {
    this.#onFrame = onFrame;
    this.#bodyFor = bodyFor;
  }

  /** Whether a frame has begun and not ended. */
  get midFrame(): boolean {
    return this.#body !== null || this.#pending.length > 0;
  }

  /** Hands out nothing until `resume`. The caller stops feeding. */
  hold(): void {
    this.#held = true;
  }

  /** Goes on with what was kept. */
  resume(): void {
    this.#held = false;
    this.push(Buffer.alloc(0));
  }

  /** Takes bytes in. Throws `kv_transfer_failed` on a frame that is too large, and what `onFrame` throws. */
  push(data: Buffer): void {
    const bytes = this.#pending.length === 0 ? data : Buffer.concat([this.#pending, data]);
    let at = 0;
    while (!this.#held) {
      const next = this.#body === null ? this.#readHead(bytes, at) : this.#fillBody(bytes, at);
      if (next < 0) break;
      at = next;
    }
    this.#pending = at === bytes.length ? Buffer.alloc(0) : bytes.subarray(at);
  }

  /** Begins the frame at `at`; -1 if its head is not whole. */
  #readHead(bytes: Buffer, at: number): number {
    if (bytes.length - at < headBytes) return -1;
    const size = bytes.readUInt32LE(at);
    if (size > maxFrameBytes) {
      throw new ServingError("kv_transfer_failed", {
        problem: "a frame is too large",
        bytes: size,
      });
    }
    const kind = bytes.readUInt8(at + 4);
    const start = at + headBytes;
    if (bytes.length - start >= size) {
      this.#onFrame(kind, bytes.subarray(start, start + size));
      return start + size;
    }
    this.#kind = kind;
    this.#body = this.#bodyFor(kind, size) ?? Buffer.allocUnsafe(size);
    this.#bodyFill = 0;
    return start;
  }

  /** Adds to the body under way; -1 if nothing is left to add. */
  #fillBody(bytes: Buffer, at: number): number {
    const body = this.#body;
    if (body === null || at === bytes.length) return -1;
    const taken = bytes.copy(body, this.#bodyFill, at);
    this.#bodyFill += taken;
    if (this.#bodyFill === body.length) {
      this.#body = null;
      this.#onFrame(this.#kind, body);
    }
    return at + taken;
  }
}
