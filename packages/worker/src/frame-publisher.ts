// Hot path: once per engine step and Frontend, over every new token. Budget 20 µs a frame and 1 µs an entry. Bench: bench/frames.bench.ts
import {
  type ActorId,
  type FrameEntry,
  type GetFrames,
  type ModelName,
  type RequestHead,
  type Subjects,
  TokenFrame,
  type WorkerId,
} from "@baton/protocol";
import type { Clock, Timer } from "@baton/runtime";
import { FrameEntries } from "./frame-entries.ts";
import type { Publisher } from "./publisher.ts";

/** Frames kept per Frontend for those that were lost on the way. */
export const framesKept = 512;

/** What a publisher is given. */
export interface FramePublisherDeps {
  readonly workerId: WorkerId;
  readonly model: ModelName;
  readonly subjects: Subjects;
  readonly publisher: Publisher;
  readonly clock: Clock;
  /** Least time between two frames to one Frontend, ms: tokens of an engine that is faster share a frame. 0: none. */
  readonly frameIntervalMs: number;
  /** The same for a frame in which no output begins or ends, ms; `frameIntervalMs` if that is more. */
  readonly streamIntervalMs: number;
}

interface Stream {
  readonly frontendId: ActorId;
  readonly frontendGeneration: number;
  readonly subject: string;
  /** The next frame's number; frame `s` is in `ring[s % framesKept]`. */
  sequence: number;
  readonly ring: Uint8Array[];
  readonly entries: FrameEntries;
  /** An output begins or ends among the entries. */
  isUrgent: boolean;
  /** When the last frame went. */
  sentAtMs: number;
}

/**
 * Gathers the new tokens of a step and sends them as one frame per Frontend. A frame is what costs on the way, and not its
 * tokens: those of steps that follow each other faster than frames may go share one, a stream's in one entry. Who waits for a
 * first token or for an end waits less than who reads on. Frames are numbered without gaps per (worker generation, Frontend generation), and the newest are kept for `missing`.
 */
export class FramePublisher {
  readonly #deps: FramePublisherDeps;
  /** One for each life of a Frontend that had work here, until that life, or a later one, is known to be lost. */
  readonly #streams = new Map<ActorId, readonly Stream[]>();
  /** Streams with entries that are not sent yet. */
  #touched: Stream[] = [];
  #generation: number;
  /** Set while a frame waits for its time. */
  #due: { readonly atMs: number; readonly timer: Timer } | null = null;

  constructor(generation: number, deps: FramePublisherDeps) {
    this.#generation = generation;
    this.#deps = deps;
  }

  /** Adds to the frame of the request's Frontend. */
  add(head: RequestHead, entry: FrameEntry): void {
    const stream = this.#streamOf(head);
    if (stream.entries.isEmpty) this.#touched.push(stream);
    stream.entries.add(entry);
    if (entry.offset === 0 || entry.end !== null) stream.isUrgent = true;
  }

  /** Sends what was added, or sees to it that it goes as soon as it may. A frame that the bus does not take stays in the ring. */
  flush(): void {
    if (this.#touched.length === 0) return;
    const { clock, frameIntervalMs, streamIntervalMs } = this.#deps;
    const longestMs = Math.max(frameIntervalMs, streamIntervalMs);
    const nowMs = clock.nowMs();
    const touched = this.#touched;
    this.#touched = [];
    let dueAtMs = Number.POSITIVE_INFINITY;
    for (const stream of touched) {
      const intervalMs = stream.isUrgent ? frameIntervalMs : longestMs;
      const leftMs = stream.sentAtMs + intervalMs - nowMs;
      if (leftMs <= 0) {
        this.#send(stream, nowMs);
      } else {
        this.#touched.push(stream);
        // A clock that was set back must not make anyone wait longer.
        dueAtMs = Math.min(dueAtMs, nowMs + Math.min(leftMs, intervalMs));
      }
    }
    if (this.#touched.length > 0) this.#wait(dueAtMs, nowMs);
  }

  /** Sends all that was added, whether it is time or not. */
  flushAll(): void {
    this.#due?.timer.cancel();
    this.#due = null;
    const touched = this.#touched;
    this.#touched = [];
    for (const stream of touched) this.#send(stream, this.#deps.clock.nowMs());
  }

  /** The kept frames of those asked for, in order. */
  missing(ask: GetFrames): Uint8Array[] {
    const stream = this.#known(ask.frontendId as ActorId, ask.frontendGeneration);
    if (stream === undefined) return [];
    const frames: Uint8Array[] = [];
    const last = Math.min(ask.to, stream.sequence - 1);
    for (let s = Math.max(ask.from, stream.sequence - framesKept, 0); s <= last; s++) {
      const frame = stream.ring[s % framesKept];
      if (frame !== undefined) frames.push(frame);
    }
    return frames;
  }

  /** Drops what is kept for a Frontend's generations up to one. */
  forget(frontendId: ActorId, generation: number): void {
    const lives = this.#streams.get(frontendId) ?? [];
    const left = lives.filter(({ frontendGeneration }) => frontendGeneration > generation);
    if (left.length > 0) this.#streams.set(frontendId, left);
    else this.#streams.delete(frontendId);
  }

  /** A new generation of this worker counts its frames from 0. */
  restart(generation: number): void {
    this.flushAll();
    this.#generation = generation;
    this.#streams.clear();
  }

  #known(frontendId: ActorId, generation: number): Stream | undefined {
    const lives = this.#streams.get(frontendId);
    return lives?.find(({ frontendGeneration }) => frontendGeneration === generation);
  }

  /** No life's work stands in the way of another's: which one lives is for its heartbeats to say. */
  #streamOf(head: RequestHead): Stream {
    const known = this.#known(head.frontendId, head.frontendGeneration);
    if (known !== undefined) return known;
    const stream: Stream = {
      frontendId: head.frontendId,
      frontendGeneration: head.frontendGeneration,
      subject: this.#deps.subjects.toFrontend("tokens", this.#deps.model, head.frontendId),
      sequence: 0,
      ring: [],
      entries: new FrameEntries(),
      isUrgent: false,
      sentAtMs: Number.NEGATIVE_INFINITY,
    };
    this.#streams.set(head.frontendId, [...(this.#streams.get(head.frontendId) ?? []), stream]);
    return stream;
  }

  #wait(atMs: number, nowMs: number): void {
    if (this.#due !== null && this.#due.atMs <= atMs) return;
    this.#due?.timer.cancel();
    const timer = this.#deps.clock.setTimer(atMs - nowMs, () => {
      this.#due = null;
      this.flush();
    });
    this.#due = { atMs, timer };
  }

  #send(stream: Stream, nowMs: number): void {
    const frame = TokenFrame.encode({
      workerId: this.#deps.workerId,
      generation: this.#generation,
      frontendGeneration: stream.frontendGeneration,
      sequence: stream.sequence,
      entries: stream.entries.take(),
    });
    stream.isUrgent = false;
    stream.sentAtMs = nowMs;
    stream.ring[stream.sequence % framesKept] = frame;
    stream.sequence++;
    this.#deps.publisher.publish(stream.subject, frame);
  }
}
