// Hot path: one pull per disaggregated request. Budget 100 µs of CPU for small parts, both sides together. Bench: bench/pull.bench.ts
import { connect, type Socket } from "node:net";
import { ServingError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import type { KvTransferMetrics } from "../kv-transfer-metrics.ts";
import type { PendingPull } from "../pending-pull.ts";
import { encodeFinish, FrameReader, finishOutcome, frameKind } from "./frame.ts";
import { askFor, encodeAsk } from "./pull-ask.ts";
import { PullAssembly } from "./pull-assembly.ts";
import { parseAddress } from "./transfer-address.ts";
import type { TransferLimits } from "./transfer-limits.ts";

const finishTaken = encodeFinish(finishOutcome.taken);
const finishCancelled = encodeFinish(finishOutcome.cancelled);
const finishRefused = encodeFinish(finishOutcome.refused);

/** Who keeps a puller's connections. */
export interface ConnectionOwner {
  /** The pull is over and the connection can carry another. */
  onIdle(connection: PullConnection): void;
  /** A kept connection turned out to be dead before the source said anything: the pull may start on a new one. */
  onStale(pull: PendingPull): void;
  onClosed(connection: PullConnection): void;
}

/** What a connection is given. */
export interface PullConnectionDeps {
  readonly clock: Clock;
  readonly counters: KvTransferMetrics;
  readonly limits: TransferLimits;
  readonly owner: ConnectionOwner;
}

/** A puller's connection to one source. Carries one pull at a time. */
export class PullConnection {
  readonly address: string;
  readonly #deps: PullConnectionDeps;
  readonly #socket: Socket;
  readonly #reader = new FrameReader(
    (kind, body) => this.#onFrame(kind, body),
    (kind, bytes) => (kind === frameKind.chunk ? (this.#assembly?.placeFor(bytes) ?? null) : null),
  );
  #pull: PendingPull | null = null;
  #assembly: PullAssembly | null = null;
  /** Carried a pull before. */
  #reused = false;
  /** The source has said something about the pull under way. */
  #answered = false;
  #connected = false;
  #closing = false;
  #endsAtMs: number;
  #quietUntilMs: number;

  /** Connects. Throws `handoff_refused` if the address is none. */
  constructor(address: string, deps: PullConnectionDeps) {
    this.address = address;
    this.#deps = deps;
    this.#socket = connect({ ...parseAddress(address), noDelay: true });
    const nowMs = deps.clock.nowMs();
    this.#quietUntilMs = nowMs + deps.limits.quietMs;
    this.#endsAtMs = nowMs + deps.limits.totalMs;
    this.#socket.on("connect", () => {
      this.#connected = true;
      this.#heard();
    });
    this.#socket.on("data", (data: Buffer) => this.#onData(data));
    // `close` follows every error and says what it means for the pull.
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => this.#onClose());
  }

  /** Sends the request; a socket that still connects keeps it until it can. */
  start(pull: PendingPull): void {
    const { ticket, parts } = pull.request;
    const secret = ticket.secret ?? new Uint8Array(0);
    const frame = encodeAsk(askFor(ticket.handoffId, secret, parts));
    this.#pull = pull;
    this.#assembly = new PullAssembly(pull.request);
    this.#answered = false;
    pull.onCancel = () => this.#giveUp(finishCancelled);
    this.#endsAtMs = this.#deps.clock.nowMs() + this.#deps.limits.totalMs;
    this.#heard();
    this.#socket.write(frame);
  }

  /** Whether a new pull may start here. */
  get usable(): boolean {
    return this.#pull === null && !this.#closing && this.#socket.writable;
  }

  /** Ends what has taken too long. */
  sweep(nowMs: number): void {
    if (this.#pull === null && !this.#closing) {
      if (nowMs >= this.#quietUntilMs) this.destroy(null);
      return;
    }
    if (nowMs < this.#quietUntilMs && nowMs < this.#endsAtMs) return;
    this.destroy(failed(this.#connected ? "the source fell silent" : "the source does not answer"));
  }

  /** Closes at once; a pull under way fails with `error`. */
  destroy(error: ServingError | null): void {
    this.#closing = true;
    this.#endPull((pull) => pull.fail(error ?? failed("the mover was closed")));
    this.#socket.destroy();
  }

  #onData(data: Buffer): void {
    // After giving up, what is still on its way is read and dropped, so that the source gets our last word.
    if (this.#closing) return;
    this.#heard();
    this.#guard(() => this.#reader.push(data));
  }

  #onFrame(kind: number, body: Buffer): void {
    const assembly = this.#assembly;
    if (assembly === null) throw failed("the source spoke out of turn");
    this.#answered = true;
    const taken = assembly.take(kind, body);
    if (taken.done) this.#succeed();
    else if (taken.wait !== null) this.#waitFor(taken.wait);
  }

  /** Stops reading until the taker is ready for more: the source feels it through TCP. */
  #waitFor(taking: Promise<void>): void {
    const pull = this.#pull;
    this.#reader.hold();
    this.#socket.pause();
    this.#quietUntilMs = Number.POSITIVE_INFINITY;
    taking.then(
      () => this.#goOn(pull),
      (error: unknown) => {
        if (this.#pull === pull && !this.#closing) this.#refuse(error);
      },
    );
  }

  #goOn(pull: PendingPull | null): void {
    if (this.#pull !== pull || this.#closing) return;
    this.#heard();
    this.#guard(() => this.#reader.resume());
    if (this.#quietUntilMs !== Number.POSITIVE_INFINITY) this.#socket.resume();
  }

  #guard(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.#refuse(error);
    }
  }

  #succeed(): void {
    this.#socket.write(finishTaken);
    this.#reused = true;
    this.#quietUntilMs = this.#deps.clock.nowMs() + this.#deps.limits.idleMs;
    this.#endPull((pull) => pull.succeed());
    this.#deps.owner.onIdle(this);
  }

  /** Ends the pull with an error of this side or of the source. */
  #refuse(error: unknown): void {
    if (error instanceof ServingError && error.details.reason === "checksum") {
      this.#deps.counters.pullsRefused.add(1, { reason: "checksum" });
    }
    this.#endPull((pull) => pull.fail(error));
    this.#giveUp(finishRefused);
  }

  /** Says so to the source, then closes once it has heard. */
  #giveUp(finish: Buffer): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#pull = null;
    this.#assembly = null;
    this.#heard();
    this.#socket.resume();
    if (this.#connected) this.#socket.end(finish);
    else this.#socket.destroy();
  }

  #onClose(): void {
    const pull = this.#pull;
    if (pull !== null && !this.#closing) {
      if (this.#reused && !this.#answered) {
        this.#endPull((stale) => this.#deps.owner.onStale(stale));
      } else {
        if (this.#connected) this.#deps.counters.pullsRefused.add(1, { reason: "cut" });
        const problem = this.#connected ? "the connection broke" : "the source cannot be reached";
        this.#endPull((broken) => broken.fail(failed(problem)));
      }
    }
    this.#closing = true;
    this.#deps.owner.onClosed(this);
  }

  #endPull(how: (pull: PendingPull) => void): void {
    const pull = this.#pull;
    this.#pull = null;
    this.#assembly = null;
    if (pull === null) return;
    pull.onCancel = null;
    how(pull);
  }

  #heard(): void {
    this.#quietUntilMs = this.#deps.clock.nowMs() + this.#deps.limits.quietMs;
  }
}

function failed(problem: string): ServingError {
  return new ServingError("kv_transfer_failed", { problem });
}
