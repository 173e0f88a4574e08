/** Hot path: `take` once per engine step and worker. Budget 1 µs beside `deliver`. */
import type { TokenFrame, WorkerId } from "@baton/protocol";
import { ServingError } from "@baton/protocol";
import type { Counter } from "@baton/runtime";

/** What an intake is given. */
export interface FrameIntakeDeps {
  /** Asks a worker's ring for frames, both ends included. Rejects with a `ServingError`. */
  fetch(workerId: WorkerId, from: number, to: number): Promise<readonly TokenFrame[]>;
  /** Whether a frame may be the first one heard of its worker's generation: a later one makes the others be dropped. */
  isExpected(frame: TokenFrame): boolean;
  /** Takes each frame once, in order of its worker. */
  deliver(frame: TokenFrame): void;
  /** Frames of a worker are gone for good. */
  onFramesLost(workerId: WorkerId, generation: number): void;
  /** Counts frames of a generation that is gone or unheard of, and those that a new count left behind. */
  readonly dropped: Counter;
}

/** Where the intake is with one worker. */
interface WorkerFrames {
  readonly generation: number;
  expected: number;
  /** Whether it is one that was lost and is back: nothing from before is of use, so its count goes on anywhere. */
  isBack: boolean;
  /** Frames behind a gap. */
  readonly held: Map<number, TokenFrame>;
  isAsking: boolean;
}

const lastSequence = 0xffff_ffff;
/** Lost workers that are remembered, in case that they were just away. */
const maxLost = 1_024;

/** Puts the frames of each worker in order, and fetches those that were lost on the way. Nothing is run again for that. */
export class FrameIntake {
  readonly #deps: FrameIntakeDeps;
  readonly #maxHeld: number;
  readonly #workers = new Map<WorkerId, WorkerFrames>();
  /** The generations of workers that were lost, oldest first. */
  readonly #lost = new Map<WorkerId, number>();

  /** `maxHeld`: most frames of a worker that wait behind a gap. */
  constructor(maxHeld: number, deps: FrameIntakeDeps) {
    this.#maxHeld = maxHeld;
    this.#deps = deps;
  }

  take(frame: TokenFrame): void {
    const isKnown = this.#workers.get(frame.workerId)?.generation === frame.generation;
    const isTaken = isKnown || this.#deps.isExpected(frame);
    const frames = isTaken ? this.#framesOf(frame.workerId, frame.generation) : null;
    if (frames === null) {
      this.#deps.dropped.add();
      return;
    }
    if (frames.isBack) {
      frames.isBack = false;
      frames.expected = frame.sequence;
    }
    if (frame.sequence > frames.expected) {
      this.#hold(frame.workerId, frames, frame);
      return;
    }
    if (frame.sequence < frames.expected) this.#restart(frames);
    frames.expected = frame.sequence + 1;
    this.#deps.deliver(frame);
    if (frames.held.size > 0) this.#release(frames);
  }

  /** Asks for whatever came after the last frame: it may be that nothing tells of the gap. */
  catchUp(workerId: WorkerId, generation: number): void {
    const frames = this.#framesOf(workerId, generation);
    if (frames !== null && !frames.isBack) this.#ask(workerId, frames, lastSequence);
  }

  /** A worker's generation is lost. If it comes back all the same, it goes on counting; later ones start from 0. */
  forget(workerId: WorkerId): void {
    const frames = this.#workers.get(workerId);
    if (frames === undefined) return;
    this.#workers.delete(workerId);
    this.#lost.set(workerId, frames.generation);
    if (this.#lost.size <= maxLost) return;
    for (const oldest of this.#lost.keys()) {
      this.#lost.delete(oldest);
      return;
    }
  }

  /** Workers that frames are kept in order for. */
  get size(): number {
    return this.#workers.size;
  }

  #framesOf(workerId: WorkerId, generation: number): WorkerFrames | null {
    const known = this.#workers.get(workerId);
    if (known !== undefined && known.generation >= generation) {
      return known.generation === generation ? known : null;
    }
    const isBack = this.#lost.get(workerId) === generation;
    const frames = { generation, expected: 0, isBack, held: new Map(), isAsking: false };
    this.#lost.delete(workerId);
    this.#workers.set(workerId, frames);
    return frames;
  }

  /**
   * A worker that took this Frontend for lost counts from 0 again. A mere repeat looks the same and does no harm: its
   * tokens carry their offsets, and what came after it is fetched again.
   */
  #restart(frames: WorkerFrames): void {
    this.#deps.dropped.add(frames.held.size);
    frames.held.clear();
  }

  #hold(workerId: WorkerId, frames: WorkerFrames, frame: TokenFrame): void {
    frames.held.set(frame.sequence, frame);
    if (frames.held.size > this.#maxHeld) this.#giveUp(workerId, frames);
    else this.#ask(workerId, frames, frame.sequence - 1);
  }

  #ask(workerId: WorkerId, frames: WorkerFrames, to: number): void {
    if (frames.isAsking) return;
    frames.isAsking = true;
    this.#deps.fetch(workerId, frames.expected, to).then(
      (found) => this.#fill(workerId, frames, found),
      (error: unknown) => this.#fetchFailed(workerId, frames, ServingError.from(error)),
    );
  }

  #fill(workerId: WorkerId, frames: WorkerFrames, found: readonly TokenFrame[]): void {
    frames.isAsking = false;
    if (this.#workers.get(workerId) !== frames) return;
    for (const frame of found) {
      const isOurs = frame.workerId === workerId && frame.generation === frames.generation;
      if (isOurs && frame.sequence >= frames.expected) frames.held.set(frame.sequence, frame);
    }
    this.#release(frames);
    if (frames.held.size > 0) this.#giveUp(workerId, frames);
  }

  #fetchFailed(workerId: WorkerId, frames: WorkerFrames, error: ServingError): void {
    frames.isAsking = false;
    // Without the bus there is nobody to ask; whoever sees it come back calls `catchUp`.
    if (error.code === "bus_unavailable" || this.#workers.get(workerId) !== frames) return;
    if (frames.held.size > 0) this.#giveUp(workerId, frames);
  }

  #giveUp(workerId: WorkerId, frames: WorkerFrames): void {
    this.#deps.onFramesLost(workerId, frames.generation);
    while (frames.held.size > 0) {
      frames.expected = Math.min(...frames.held.keys());
      this.#release(frames);
    }
  }

  #release(frames: WorkerFrames): void {
    for (;;) {
      const next = frames.held.get(frames.expected);
      if (next === undefined) return;
      frames.held.delete(frames.expected);
      frames.expected += 1;
      this.#deps.deliver(next);
    }
  }
}
