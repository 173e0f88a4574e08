import { crc32 } from "node:zlib";
import { fromWireError, ServingError, unpack } from "@baton/protocol";
import type { PullRequest } from "../kv-mover.ts";
import { frameKind, tailPart } from "./frame.ts";

/** What a frame led to. */
export interface Taken {
  /** Every part is here and was handed over. */
  readonly done: boolean;
  /** The part's taker asks to be waited for. */
  readonly wait: Promise<void> | null;
}

const goOn: Taken = { done: false, wait: null };
const allTaken: Taken = { done: true, wait: null };

/**
 * Puts the frames of one pull together: parts in the order asked for, each whole and with the right checksum, all
 * of them no larger than the ticket says. Knows no socket.
 */
export class PullAssembly {
  readonly #request: PullRequest;
  #next = 0;
  #part: Buffer | null = null;
  #fill = 0;
  #crc = 0;
  #bytesLeft: number;

  constructor(request: PullRequest) {
    this.#request = request;
    this.#bytesLeft = request.ticket.bytes;
  }

  /** Where the next chunk of so many bytes belongs, so that it may be put there at once; null if it does not fit. */
  placeFor(bytes: number): Buffer | null {
    const part = this.#part;
    if (part === null || bytes > part.length - this.#fill) return null;
    return part.subarray(this.#fill, this.#fill + bytes);
  }

  /** Takes one frame. Throws `kv_transfer_failed` (`reason` `checksum` for a corrupted part) or the source's error. */
  take(kind: number, body: Buffer): Taken {
    switch (kind) {
      case frameKind.part:
        return this.#begin(body);
      case frameKind.chunk:
        return this.#add(body);
      case frameKind.sum:
        return this.#finish(body);
      case frameKind.done:
        if (this.#part !== null || this.#next !== this.#request.parts.length) {
          throw broken("the source ended early");
        }
        return allTaken;
      case frameKind.failed:
        throw sourceError(body);
      default:
        throw broken("the source sent an unknown frame");
    }
  }

  #begin(body: Buffer): Taken {
    if (this.#part !== null || body.length !== 8) throw broken("a part began out of turn");
    const wanted = this.#request.parts[this.#next];
    const named = body.readUInt32LE(0);
    if (wanted === undefined || named !== (wanted === "tail" ? tailPart : wanted)) {
      throw broken("the source sent a part that was not asked for");
    }
    const size = body.readUInt32LE(4);
    if (size > this.#bytesLeft) throw broken("the parts are larger than the ticket says");
    this.#bytesLeft -= size;
    this.#part = Buffer.allocUnsafeSlow(size);
    this.#fill = 0;
    this.#crc = 0;
    return goOn;
  }

  #add(body: Buffer): Taken {
    const part = this.#part;
    if (part === null || body.length > part.length - this.#fill) {
      throw broken("a chunk does not fit its part");
    }
    const isInPlace = body.buffer === part.buffer;
    if (!isInPlace) body.copy(part, this.#fill);
    this.#fill += body.length;
    this.#crc = crc32(body, this.#crc);
    return goOn;
  }

  #finish(body: Buffer): Taken {
    const part = this.#part;
    const id = this.#request.parts[this.#next];
    if (part === null || id === undefined || body.length !== 4 || this.#fill !== part.length) {
      throw broken("a part ended out of turn");
    }
    if (this.#crc !== body.readUInt32LE(0)) {
      throw new ServingError("kv_transfer_failed", {
        problem: "a part's checksum is wrong",
        reason: "checksum",
        part: String(id),
      });
    }
    this.#part = null;
    this.#next++;
    const taking = this.#request.onPart(
      id,
      new Uint8Array(part.buffer, part.byteOffset, part.length),
    );
    return taking === undefined ? goOn : { done: false, wait: taking };
  }
}

/** The error of a source that does not keep to the protocol. */
function broken(problem: string): ServingError {
  return new ServingError("kv_transfer_failed", { problem });
}

function sourceError(body: Buffer): ServingError {
  try {
    // The body does not outlive the call; an error holds no views.
    return fromWireError(unpack(body));
  } catch (error) {
    return new ServingError(
      "kv_transfer_failed",
      { problem: "the source's error cannot be read" },
      { cause: error },
    );
  }
}
