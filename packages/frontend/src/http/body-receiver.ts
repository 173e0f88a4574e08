/** Hot path: once per request. Bench: scripts/measure-http.ts */
import type { ServingError } from "@baton/protocol";
import type { Exchange } from "./connections.ts";
import { type ContentCoding, tooLarge, Unfolder } from "./content-coding.ts";
import { refusal } from "./error-body.ts";
import { parseJsonBytes } from "./parse-json.ts";
import { checkBodyHead } from "./request-head.ts";

/** Bounds of bodies that arrive. */
export interface BodyReceiverLimits {
  /** Of one, as it is sent and unfolded. */
  readonly maxBodyBytes: number;
  /** Most requests at once whose bodies are still to come. */
  readonly maxInFlight: number;
  /** Most bytes at once of bodies that are not whole yet. */
  readonly maxReceivingBytes: number;
}

/** Gets what a body says, or why it is refused. Called once, or not at all if the client leaves. */
export interface BodyTaker {
  taken(exchange: Exchange, value: unknown): void;
  refused(exchange: Exchange, error: unknown): void;
}

/** Reads bodies of JSON. None is read further than it may be, and all together never hold more than they may. */
export class BodyReceiver {
  readonly #limits: BodyReceiverLimits;
  #arriving = 0;
  #heldBytes = 0;
  readonly #unfolder = new Unfolder();

  constructor(limits: BodyReceiverLimits) {
    this.#limits = limits;
  }

  /** Bodies that are on their way, and what is held of them. */
  get held(): { readonly bodies: number; readonly bytes: number } {
    return { bodies: this.#arriving, bytes: this.#heldBytes };
  }

  /** Reads the body of a request, unless its head already says that it is not wanted. */
  receive(exchange: Exchange, taker: BodyTaker): void {
    let coding: ContentCoding | null;
    try {
      coding = checkBodyHead(exchange.request, this.#limits.maxBodyBytes);
      if (this.#arriving >= this.#limits.maxInFlight) {
        throw refusal("overloaded", "too many requests are arriving at once");
      }
    } catch (error) {
      taker.refused(exchange, error);
      return;
    }
    if (exchange.expectsContinue) exchange.response.writeContinue();
    this.#read(exchange, coding, taker);
  }

  #read(exchange: Exchange, coding: ContentCoding | null, taker: BodyTaker): void {
    const { request } = exchange;
    const pieces: Buffer[] = [];
    let length = 0;
    let isOver = false;
    const stop = (): void => {
      isOver = true;
      exchange.arrival = null;
      this.#arriving -= 1;
      this.#heldBytes -= length;
      pieces.length = 0;
    };
    const end = (bytes: Buffer | null): void => {
      if (isOver || bytes === null) return;
      stop();
      take(exchange, bytes, taker);
    };
    const refuse = (error: unknown): void => {
      if (isOver) return;
      stop();
      taker.refused(exchange, error);
    };
    this.#arriving += 1;
    exchange.arrival = { stop };
    request.on("data", (piece: Buffer) => {
      if (isOver) return;
      length += piece.length;
      this.#heldBytes += piece.length;
      pieces.push(piece);
      const error = this.#excess(length);
      if (error !== null) refuse(error);
    });
    request.on("end", () => {
      if (isOver) return;
      const [first] = pieces;
      const bytes =
        pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces, length);
      if (coding === null) end(bytes);
      else this.#unfold(coding, bytes, () => !isOver).then(end, refuse);
    });
  }

  #unfold(coding: ContentCoding, bytes: Buffer, isWanted: () => boolean): Promise<Buffer | null> {
    return this.#unfolder.unfold(coding, bytes, this.#limits.maxBodyBytes, isWanted);
  }

  #excess(length: number): ServingError | null {
    const { maxBodyBytes, maxReceivingBytes } = this.#limits;
    if (length > maxBodyBytes) return tooLarge(maxBodyBytes);
    if (this.#heldBytes <= maxReceivingBytes) return null;
    return refusal("overloaded", "too many bytes are arriving at once");
  }
}

function take(exchange: Exchange, bytes: Buffer, taker: BodyTaker): void {
  let value: unknown;
  try {
    value = parseJsonBytes(bytes);
  } catch (error) {
    taker.refused(exchange, error);
    return;
  }
  taker.taken(exchange, value);
}
