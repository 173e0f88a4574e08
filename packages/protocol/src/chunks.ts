import { ServingError } from "./errors.ts";

/**
 * NATS headers of a part of a payload that is larger than the server takes. Parts of one message share the id;
 * index counts from 0 to count − 1; bytes is the length of the whole. Whoever lacks parts may ask for all but the
 * first: it publishes an empty message to the subject in `rest`, with the subject that shall get them as its reply.
 * Members of a queue group need this, since each part may reach another member.
 */
export const chunkHeaderNames = {
  id: "Baton-Chunk-Id",
  index: "Baton-Chunk-Index",
  count: "Baton-Chunk-Count",
  bytes: "Baton-Chunk-Bytes",
  rest: "Baton-Chunk-Rest",
} as const;

/** Room that the headers of a part may need beside its payload, in bytes. */
export const chunkHeaderBytes = 512;

/** The headers of one part. */
export interface ChunkHeader {
  readonly id: string;
  readonly index: number;
  readonly count: number;
  /** Length of the joined payload. */
  readonly totalBytes: number;
  /** Where the other parts may be asked for, for some seconds. */
  readonly rest: string;
}

/** Cuts a payload into views of at most `maxChunkBytes` (1 or more). */
export function splitPayload(payload: Uint8Array, maxChunkBytes: number): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < payload.length; at += maxChunkBytes) {
    parts.push(payload.subarray(at, at + maxChunkBytes));
  }
  return parts;
}

/** The headers as text, by name. */
export function writeChunkHeader(header: ChunkHeader): readonly (readonly [string, string])[] {
  return [
    [chunkHeaderNames.id, header.id],
    [chunkHeaderNames.index, String(header.index)],
    [chunkHeaderNames.count, String(header.count)],
    [chunkHeaderNames.bytes, String(header.totalBytes)],
    [chunkHeaderNames.rest, header.rest],
  ];
}

/** Reads the headers of a part; null if the message is whole. Throws `malformed_message` on numbers that make no sense. */
export function readChunkHeader(get: (name: string) => string): ChunkHeader | null {
  const id = get(chunkHeaderNames.id);
  if (id === "") return null;
  const header = {
    id,
    index: Number(get(chunkHeaderNames.index)),
    count: Number(get(chunkHeaderNames.count)),
    totalBytes: Number(get(chunkHeaderNames.bytes)),
    rest: get(chunkHeaderNames.rest),
  };
  const numbers = [header.index, header.count, header.totalBytes];
  if (!numbers.every(Number.isSafeInteger) || header.index < 0 || header.index >= header.count) {
    throw new ServingError("malformed_message", { message: "chunk", field: "index" });
  }
  return header;
}

/** A message put together again. */
export interface JoinedPayload {
  readonly payload: Uint8Array;
  /** The reply subject of the first part, empty if it has none. */
  readonly reply: string;
}

/** Bounds of a joiner. */
export interface ChunkJoinerOptions {
  /** Largest joined payload; parts of a larger one are dropped. */
  readonly maxMessageBytes: number;
  /** Bytes of unfinished messages that are held at most; the oldest go first. */
  readonly maxHeldBytes: number;
  /** Milliseconds without a part after which an unfinished message is dropped. */
  readonly staleMs: number;
}

/** Unfinished messages that are held at most, however small their parts are. */
const maxUnfinished = 4_096;

interface Unfinished {
  readonly count: number;
  readonly totalBytes: number;
  /** By index. What a header promises takes no room before it is here. */
  readonly parts: Map<number, Uint8Array>;
  heldBytes: number;
  reply: string;
  lastAtMs: number;
}

/** Puts the parts of messages together, in any order, repeats ignored, in bounded memory. */
export class ChunkJoiner {
  readonly #options: ChunkJoinerOptions;
  /** Kept in the order of the last part, the oldest first. */
  readonly #partials = new Map<string, Unfinished>();
  #heldBytes = 0;
  #dropped = 0;

  constructor(options: ChunkJoinerOptions) {
    this.#options = options;
  }

  /** Bytes of unfinished messages. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Unfinished messages. */
  get unfinished(): number {
    return this.#partials.size;
  }

  /** Whether parts of this message are held. */
  has(id: string): boolean {
    return this.#partials.has(id);
  }

  /** Messages that were given up since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  /** Takes a part, which is kept as it is; answers the whole when it is the last one that was missing. */
  add(header: ChunkHeader, part: Uint8Array, reply: string, nowMs: number): JoinedPayload | null {
    const partial = this.#partials.get(header.id) ?? this.#begin(header, nowMs);
    if (partial === null) return null;
    if (header.index >= partial.count || partial.parts.has(header.index)) return null;
    partial.parts.set(header.index, part);
    partial.heldBytes += part.length;
    partial.lastAtMs = nowMs;
    this.#heldBytes += part.length;
    if (reply !== "" && header.index === 0) partial.reply = reply;
    this.#partials.delete(header.id);
    this.#partials.set(header.id, partial);
    if (partial.parts.size < partial.count) {
      this.#keepBounds();
      return null;
    }
    this.#forget(header.id, partial);
    return this.#join(partial);
  }

  /** Gives up what has not grown for `staleMs`. */
  dropStale(nowMs: number): void {
    for (const [id, partial] of this.#partials) {
      if (nowMs - partial.lastAtMs < this.#options.staleMs) return;
      this.#drop(id, partial);
    }
  }

  /** Gives up everything, as when a connection is gone. */
  clear(): void {
    for (const [id, partial] of this.#partials) this.#drop(id, partial);
  }

  #begin(header: ChunkHeader, nowMs: number): Unfinished | null {
    if (header.totalBytes > this.#options.maxMessageBytes || header.count > header.totalBytes) {
      if (header.index === 0) this.#dropped += 1;
      return null;
    }
    const partial: Unfinished = {
      count: header.count,
      totalBytes: header.totalBytes,
      parts: new Map(),
      heldBytes: 0,
      reply: "",
      lastAtMs: nowMs,
    };
    this.#partials.set(header.id, partial);
    return partial;
  }

  #join(partial: Unfinished): JoinedPayload | null {
    if (partial.heldBytes !== partial.totalBytes) {
      this.#dropped += 1;
      return null;
    }
    const payload = new Uint8Array(partial.totalBytes);
    let at = 0;
    for (let index = 0; index < partial.count; index++) {
      const part = partial.parts.get(index);
      if (part === undefined) return null;
      payload.set(part, at);
      at += part.length;
    }
    return { payload, reply: partial.reply };
  }

  #keepBounds(): void {
    for (const [id, partial] of this.#partials) {
      const isWithin = this.#heldBytes <= this.#options.maxHeldBytes;
      if (isWithin && this.#partials.size <= maxUnfinished) return;
      this.#drop(id, partial);
    }
  }

  #drop(id: string, partial: Unfinished): void {
    this.#forget(id, partial);
    this.#dropped += 1;
  }

  #forget(id: string, partial: Unfinished): void {
    this.#partials.delete(id);
    this.#heldBytes -= partial.heldBytes;
  }
}
