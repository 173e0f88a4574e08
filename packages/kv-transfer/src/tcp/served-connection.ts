// Hot path: one pull per disaggregated request. Budget 100 µs of CPU for small parts, both sides together. Bench: bench/pull.bench.ts
import type { Socket } from "node:net";
import { crc32 } from "node:zlib";
import { pack, ServingError, toWireError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import type { HandoffDesk, PartId, PullFailure, PullGrant } from "../kv-mover.ts";
import {
  encodeFrame,
  encodeHead,
  encodeNumbers,
  FrameReader,
  finishOutcome,
  frameKind,
  maxFrameBytes,
  tailPart,
} from "./frame.ts";
import { decodeAsk, type PullAsk } from "./pull-ask.ts";
import type { TransferLimits } from "./transfer-limits.ts";

/** Frames are gathered up to this size before they are written. */
const gatherBytes = 65_536;
/** What is gathered waits no longer than this for more, ms: to a puller a source that reads slowly looks silent. */
const gatherMs = 250;
const doneFrame = encodeHead(frameKind.done, 0);

/** What a connection is given. */
export interface ServedConnectionDeps {
  readonly clock: Clock;
  readonly limits: TransferLimits;
  readonly desk: HandoffDesk;
  readonly onClosed: (connection: ServedConnection) => void;
}

/** `asked`: nothing under way. `sending`: parts are on their way out. `sent`: the puller's last word is awaited. */
type ServingPhase = "asked" | "sending" | "sent" | "closing";

/** A source's side of one connection. */
export class ServedConnection {
  readonly #socket: Socket;
  readonly #deps: ServedConnectionDeps;
  readonly #reader = new FrameReader((kind, body) => this.#onFrame(kind, body));
  #phase: ServingPhase = "asked";
  #grant: PullGrant | null = null;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #flushedAtMs: number;
  #onDrain: (() => void) | null = null;
  #midFrame = false;
  #quietUntilMs: number;
  #endsAtMs = Number.POSITIVE_INFINITY;

  constructor(socket: Socket, deps: ServedConnectionDeps) {
    this.#socket = socket;
    this.#deps = deps;
    this.#flushedAtMs = deps.clock.nowMs();
    this.#quietUntilMs = this.#flushedAtMs + deps.limits.quietMs;
    socket.on("data", (data: Buffer) => this.#onData(data));
    socket.on("drain", () => this.#wake());
    // `close` follows every error.
    socket.on("error", () => {});
    socket.on("close", () => this.#onClose());
  }

  /** Ends what has taken too long. */
  sweep(nowMs: number): void {
    if (nowMs >= this.#quietUntilMs || nowMs >= this.#endsAtMs) this.destroy();
  }

  /** Closes at once; a pull under way is cut. */
  destroy(): void {
    this.#socket.destroy();
  }

  #onData(data: Buffer): void {
    if (this.#phase === "closing") return;
    try {
      this.#reader.push(data);
    } catch (error) {
      this.#fail(ServingError.from(error, "kv_transfer_failed"), "failed");
    }
    // The time for a request runs from its first byte, however often it trickles.
    const midFrame = this.#reader.midFrame;
    if (midFrame && !this.#midFrame) this.#waitQuietly(this.#deps.limits.quietMs);
    this.#midFrame = midFrame;
  }

  #onFrame(kind: number, body: Buffer): void {
    if (kind === frameKind.pull && this.#phase === "asked") this.#open(decodeAsk(body));
    else if (kind === frameKind.finish && this.#grant !== null) this.#finish(body[0] ?? -1);
    else throw new ServingError("malformed_message", { message: "kv pull", frame: kind });
  }

  #open(ask: PullAsk): void {
    const grant = this.#deps.desk.openPull(ask.handoffId, ask.secret, () => this.#onRevoked());
    this.#grant = grant;
    this.#phase = "sending";
    this.#flushedAtMs = this.#deps.clock.nowMs();
    this.#endsAtMs = this.#deps.clock.nowMs() + this.#deps.limits.totalMs;
    this.#send(ask, grant).catch((error: unknown) => {
      if (this.#grant === grant)
        this.#fail(ServingError.from(error, "kv_transfer_failed"), "failed");
    });
  }

  /**
   * After the last part the puller may have gone on to another pull on this connection, and would take an error for
   * that one's. A connection that just closes has it start anew on another.
   */
  #onRevoked(): void {
    if (this.#phase !== "sent") {
      this.#fail(gone("the KV was freed under the pull"), "failed");
      return;
    }
    this.#grant = null;
    this.#close(null);
  }

  async #send(ask: PullAsk, grant: PullGrant): Promise<void> {
    for (const block of ask.blocks) {
      if (!(await this.#sendPart(grant, block))) return;
    }
    if (ask.tail && !(await this.#sendPart(grant, "tail"))) return;
    this.#phase = "sent";
    this.#waitQuietly(this.#deps.limits.quietMs);
    this.#gather(doneFrame);
    this.#flush();
  }

  /** False if the pull is over. */
  async #sendPart(grant: PullGrant, part: PartId): Promise<boolean> {
    this.#waitQuietly(this.#deps.limits.quietMs);
    const bytes = await grant.source.read(part);
    if (this.#grant !== grant || !grant.live) return false;
    grant.extend();
    this.#gather(encodeNumbers(frameKind.part, part === "tail" ? tailPart : part, bytes.length));
    let crc = 0;
    for (let at = 0; at < bytes.length; at += maxFrameBytes) {
      const chunk = bytes.subarray(at, at + maxFrameBytes);
      crc = crc32(chunk, crc);
      this.#gather(encodeHead(frameKind.chunk, chunk.length));
      this.#gather(chunk);
      if (this.#gatheredBytes < gatherBytes) continue;
      await this.#flushAndWait();
      if (this.#grant !== grant || !grant.live) return false;
      grant.extend();
    }
    this.#gather(encodeNumbers(frameKind.sum, crc));
    if (this.#deps.clock.nowMs() - this.#flushedAtMs >= gatherMs) this.#flush();
    return true;
  }

  #gather(bytes: Uint8Array): void {
    this.#gathered.push(bytes);
    this.#gatheredBytes += bytes.length;
  }

  /** Writes what is gathered: copied into one buffer while small, else in one vectored write. */
  #flush(): boolean {
    const buffers = this.#gathered;
    if (buffers.length === 0 || !this.#socket.writable) return true;
    const bytes = this.#gatheredBytes;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#flushedAtMs = this.#deps.clock.nowMs();
    if (bytes <= gatherBytes) return this.#socket.write(Buffer.concat(buffers, bytes));
    let ready = true;
    this.#socket.cork();
    for (const buffer of buffers) ready = this.#socket.write(buffer);
    this.#socket.uncork();
    return ready;
  }

  async #flushAndWait(): Promise<void> {
    this.#waitQuietly(this.#deps.limits.quietMs);
    if (this.#flush()) return;
    await new Promise<void>((resolve) => {
      this.#onDrain = resolve;
    });
  }

  #wake(): void {
    const waiting = this.#onDrain;
    this.#onDrain = null;
    waiting?.();
  }

  /** The puller's last word about the pull under way. */
  #finish(outcome: number): void {
    const grant = this.#grant;
    this.#grant = null;
    if (outcome === finishOutcome.taken && this.#phase === "sent") {
      this.#phase = "asked";
      this.#endsAtMs = Number.POSITIVE_INFINITY;
      this.#waitQuietly(this.#deps.limits.idleMs * 2);
      grant?.complete();
      return;
    }
    this.#close(null);
    grant?.abandon(outcome === finishOutcome.cancelled ? "cancelled" : "failed");
  }

  /** Tells the puller why nothing more comes, and closes. */
  #fail(error: ServingError, why: PullFailure): void {
    const grant = this.#grant;
    this.#grant = null;
    this.#close(encodeFrame(frameKind.failed, pack(toWireError(error))));
    grant?.abandon(why);
  }

  #close(last: Buffer | null): void {
    if (this.#phase === "closing") return;
    this.#phase = "closing";
    this.#endsAtMs = this.#deps.clock.nowMs() + this.#deps.limits.quietMs;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    if (last === null) this.#socket.end();
    else this.#socket.end(last);
    this.#wake();
  }

  #onClose(): void {
    const grant = this.#grant;
    this.#grant = null;
    this.#phase = "closing";
    this.#wake();
    grant?.abandon("cut");
    this.#deps.onClosed(this);
  }

  #waitQuietly(ms: number): void {
    this.#quietUntilMs = this.#deps.clock.nowMs() + ms;
  }
}

function gone(problem: string): ServingError {
  return new ServingError("kv_transfer_failed", { problem });
}
