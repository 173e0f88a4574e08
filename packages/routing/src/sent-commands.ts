import type { RequestHead, RequestId, WorkerId } from "@baton/protocol";

/** A command that was sent, as far as its bounce needs it. */
export interface SentCommand {
  readonly head: RequestHead;
  readonly workerId: WorkerId;
  readonly atMs: number;
}

/**
 * Commands of which it is not known yet that somebody got them. A bounce comes within a round trip, perhaps after the
 * worker's loss was heard in another way, so they are kept for a time of their own and not as long as the booking.
 */
export class SentCommands {
  readonly #keepMs: number;
  readonly #sent = new Map<RequestId, SentCommand>();

  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  get size(): number {
    return this.#sent.size;
  }

  add(command: SentCommand): void {
    this.#sent.set(command.head.requestId, command);
  }

  /** Takes a command out; undefined if its request is over, or was sent too long ago. */
  take(requestId: RequestId): SentCommand | undefined {
    const command = this.#sent.get(requestId);
    this.#sent.delete(requestId);
    return command;
  }

  /** Drops what a Frontend asked for, up to that generation of it. */
  dropFrontend(frontendId: RequestHead["frontendId"], generation: number): void {
    for (const [requestId, { head }] of this.#sent) {
      if (head.frontendId === frontendId && head.frontendGeneration <= generation) {
        this.#sent.delete(requestId);
      }
    }
  }

  /** Drops what has arrived by now, or never will. */
  forgetOld(nowMs: number): void {
    for (const [requestId, { atMs }] of this.#sent) {
      if (nowMs - atMs < this.#keepMs) return;
      this.#sent.delete(requestId);
    }
  }
}
