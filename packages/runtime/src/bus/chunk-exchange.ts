import { type ChunkHeader, ChunkJoiner, chunkHeaderBytes, splitPayload } from "@baton/protocol";
import type { Clock, Timer } from "../clock.ts";
import type { Inbound, Link } from "./link.ts";

/** Bounds of the splitting and joining of large payloads. */
export interface ChunkLimits {
  readonly maxMessageBytes: number;
  /** Bytes of unfinished messages that a bus holds at most. */
  readonly maxHeldBytes: number;
  /** Milliseconds without progress after which an unfinished message is dropped. */
  readonly staleMs: number;
}

interface Kept {
  readonly parts: readonly Uint8Array[];
  readonly headers: readonly ChunkHeader[];
  readonly bytes: number;
  readonly keptAtMs: number;
}

/** Hears a message that is whole again. */
type OnJoined = (message: Inbound) => void;

/**
 * Splits what is too large for one message and joins it at the other end. All parts go to the subject in order. A
 * member of a queue group may get only some of them: the one that gets the first part asks the sender for the
 * rest, which is kept for that for some seconds, within the limits.
 */
export class ChunkExchange {
  readonly #limits: ChunkLimits;
  readonly #clock: Clock;
  readonly #inbox: string;
  readonly #onDropped: (count: number) => void;
  readonly #joiners = new Set<ChunkJoiner>();
  readonly #kept = new Map<string, Kept>();
  readonly #asked = new Map<string, { readonly first: Inbound; readonly onJoined: OnJoined }>();
  readonly #askedJoiner: ChunkJoiner;
  readonly #idPrefix: string;
  #keptBytes = 0;
  #nextId = 0;
  #sweep: Timer | null = null;

  constructor(
    limits: ChunkLimits,
    deps: {
      readonly clock: Clock;
      readonly inbox: string;
      /** Tells this connection's messages from those of others. */
      readonly idPrefix: string;
      readonly onDropped: (count: number) => void;
    },
  ) {
    this.#limits = limits;
    this.#clock = deps.clock;
    this.#inbox = deps.inbox;
    this.#idPrefix = deps.idPrefix;
    this.#onDropped = deps.onDropped;
    this.#askedJoiner = this.newJoiner();
  }

  /** Bytes that are held for messages under way, in both directions. */
  get heldBytes(): number {
    let bytes = this.#keptBytes;
    for (const joiner of this.#joiners) bytes += joiner.heldBytes;
    return bytes;
  }

  /** A joiner for one subscription. */
  newJoiner(): ChunkJoiner {
    const joiner = new ChunkJoiner(this.#limits);
    this.#joiners.add(joiner);
    return joiner;
  }

  dropJoiner(joiner: ChunkJoiner): void {
    joiner.clear();
    this.#joiners.delete(joiner);
  }

  /** Sends a payload that is too large for one message. */
  send(link: Link, subject: string, payload: Uint8Array, reply: string): void {
    const chunkBytes = Math.max(link.maxPayloadBytes - chunkHeaderBytes, 1);
    const parts = splitPayload(payload, chunkBytes);
    this.#nextId += 1;
    const id = `${this.#idPrefix}-${this.#nextId.toString(36)}`;
    const headers = parts.map((_, index) => ({
      id,
      index,
      count: parts.length,
      totalBytes: payload.length,
      rest: `${this.#inbox}.c.${id}`,
    }));
    this.#keep(id, { parts, headers, bytes: payload.length, keptAtMs: this.#clock.nowMs() });
    sendParts(link, subject, { parts, headers }, 0, reply);
  }

  /** Takes a part that came by a subscription; `onJoined` hears the whole. */
  take(joiner: ChunkJoiner, message: Inbound, chunk: ChunkHeader, onJoined: OnJoined): void {
    const joined = joiner.add(chunk, message.payload, message.reply, this.#clock.nowMs());
    this.#countDropped(joiner);
    if (joined !== null) onJoined({ ...message, ...joined, chunk: null });
    else this.#sweepLater();
  }

  /** Takes a part that came to a member of a queue group; asks for the rest if it is the first. */
  takeInGroup(link: Link, message: Inbound, chunk: ChunkHeader, onJoined: OnJoined): void {
    if (chunk.index !== 0) return;
    this.#asked.set(chunk.id, { first: message, onJoined });
    link.send(chunk.rest, new Uint8Array(0), `${this.#inbox}.p.${chunk.id}`, null);
    this.takeAsked(message);
  }

  /** Takes a part that was asked for. */
  takeAsked(message: Inbound): void {
    const chunk = message.chunk;
    const asked = chunk === null ? undefined : this.#asked.get(chunk.id);
    if (chunk === null || asked === undefined) return;
    const nowMs = this.#clock.nowMs();
    const joined = this.#askedJoiner.add(chunk, message.payload, message.reply, nowMs);
    this.#countDropped(this.#askedJoiner);
    if (joined === null) {
      this.#sweepLater();
      return;
    }
    this.#asked.delete(chunk.id);
    asked.onJoined({ ...asked.first, payload: joined.payload, chunk: null });
  }

  /** Somebody asks for all but the first part of what was sent. */
  sendRest(link: Link, id: string, to: string): void {
    const kept = this.#kept.get(id);
    if (kept !== undefined) sendParts(link, to, kept, 1, "");
  }

  /** Lets go of everything: the connection is gone. */
  clear(): void {
    this.#sweep?.cancel();
    this.#sweep = null;
    for (const joiner of this.#joiners) {
      joiner.clear();
      this.#countDropped(joiner);
    }
    this.#asked.clear();
    this.#kept.clear();
    this.#keptBytes = 0;
  }

  #keep(id: string, kept: Kept): void {
    this.#kept.set(id, kept);
    this.#keptBytes += kept.bytes;
    for (const [oldId, old] of this.#kept) {
      if (this.#keptBytes <= this.#limits.maxHeldBytes) break;
      this.#forget(oldId, old);
    }
    this.#sweepLater();
  }

  #forget(id: string, kept: Kept): void {
    this.#kept.delete(id);
    this.#keptBytes -= kept.bytes;
  }

  #sweepLater(): void {
    this.#sweep ??= this.#clock.setTimer(this.#limits.staleMs, () => this.#sweepNow());
  }

  #sweepNow(): void {
    this.#sweep = null;
    const nowMs = this.#clock.nowMs();
    let unfinished = 0;
    for (const joiner of this.#joiners) {
      joiner.dropStale(nowMs);
      unfinished += joiner.unfinished;
      this.#countDropped(joiner);
    }
    for (const id of this.#asked.keys()) {
      if (!this.#askedJoiner.has(id)) this.#asked.delete(id);
    }
    for (const [id, kept] of this.#kept) {
      if (nowMs - kept.keptAtMs >= this.#limits.staleMs) this.#forget(id, kept);
    }
    if (unfinished > 0 || this.#kept.size > 0) this.#sweepLater();
  }

  #countDropped(joiner: ChunkJoiner): void {
    const dropped = joiner.takeDropped();
    if (dropped > 0) this.#onDropped(dropped);
  }
}

function sendParts(
  link: Link,
  subject: string,
  message: { readonly parts: readonly Uint8Array[]; readonly headers: readonly ChunkHeader[] },
  from: number,
  reply: string,
): void {
  for (let index = from; index < message.parts.length; index++) {
    const part = message.parts[index];
    const header = message.headers[index];
    if (part === undefined || header === undefined) return;
    link.send(subject, part, index === 0 ? reply : "", header);
  }
}
