import { ServingError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import type { HandoffDesk, KvMover, PartId, Pull, PullGrant, PullRequest } from "../kv-mover.ts";
import type { KvTransferMetrics } from "../kv-transfer-metrics.ts";
import { PendingPull } from "../pending-pull.ts";

/** The places of one process where KV may be pulled from, by address. */
export class MemoryKvExchange {
  readonly #movers = new Map<string, MemoryKvMover>();
  #next = 1;

  /** An address that nobody has had. */
  newAddress(): string {
    return `memory:${this.#next++}`;
  }

  add(address: string, mover: MemoryKvMover): void {
    this.#movers.set(address, mover);
  }

  remove(address: string): void {
    this.#movers.delete(address);
  }

  find(address: string): MemoryKvMover | undefined {
    return this.#movers.get(address);
  }
}

/** How a mover in memory behaves. */
export interface MemoryKvMoverOptions {
  readonly exchange: MemoryKvExchange;
  /** Time until the source is reached, and per part. Default 0 ms each. */
  readonly delayMs?: (bytes: number) => number;
}

/** What a mover is given. */
export interface MemoryKvMoverDeps {
  readonly clock: Clock;
  readonly counters: KvTransferMetrics;
  readonly desk: HandoffDesk;
}

/** Moves KV between workers of one process, in the time of their Clock. Same promises as over TCP. */
export class MemoryKvMover implements KvMover {
  readonly #exchange: MemoryKvExchange;
  readonly #delayMs: (bytes: number) => number;
  readonly #deps: MemoryKvMoverDeps;
  readonly #pulls = new Set<PendingPull>();
  /** Pulls that others make here: each value cuts its pull. */
  readonly #served = new Set<() => void>();
  #address: string | null = null;
  #closed = false;

  constructor(options: MemoryKvMoverOptions, deps: MemoryKvMoverDeps) {
    this.#exchange = options.exchange;
    this.#delayMs = options.delayMs ?? (() => 0);
    this.#deps = deps;
  }

  get address(): string | null {
    return this.#address;
  }

  listen(): Promise<void> {
    this.#address = this.#exchange.newAddress();
    this.#exchange.add(this.#address, this);
    return Promise.resolve();
  }

  pull(request: PullRequest): Pull {
    const pull = new PendingPull(request);
    if (this.#closed) {
      pull.fail(new ServingError("kv_transfer_failed", { problem: "the mover is closed" }));
      return pull;
    }
    this.#pulls.add(pull);
    this.#run(pull)
      .then(
        () => pull.succeed(),
        (error: unknown) => pull.fail(error),
      )
      .finally(() => this.#pulls.delete(pull));
    return pull;
  }

  close(): Promise<void> {
    this.#closed = true;
    if (this.#address !== null) this.#exchange.remove(this.#address);
    this.#address = null;
    for (const cut of [...this.#served]) cut();
    for (const pull of [...this.#pulls]) {
      pull.fail(new ServingError("kv_transfer_failed", { problem: "the mover was closed" }));
      pull.onCancel?.();
    }
    return Promise.resolve();
  }

  async #run(pull: PendingPull): Promise<void> {
    const { ticket, parts } = pull.request;
    await this.#deps.clock.sleep(this.#delayMs(0));
    if (pull.settled) return;
    const source = ticket.address === null ? undefined : this.#exchange.find(ticket.address);
    if (source === undefined) throw lost("the source cannot be reached");
    let revoked = false;
    const revoke = (): void => {
      revoked = true;
      pull.fail(lost("the KV was freed under the pull"));
    };
    const secret = ticket.secret ?? new Uint8Array(0);
    const grant = source.#deps.desk.openPull(ticket.handoffId, secret, revoke);
    const cut = (): void => this.#cut(pull, grant);
    source.#served.add(cut);
    pull.onCancel = () => grant.abandon(this.#closed ? "cut" : "cancelled");
    try {
      for (const part of parts) {
        await this.#movePart(pull, grant, part);
        if (pull.settled || revoked) return;
      }
      grant.complete();
    } finally {
      source.#served.delete(cut);
      pull.onCancel = null;
      // Does nothing after `complete`.
      grant.abandon("failed");
    }
  }

  async #movePart(pull: PendingPull, grant: PullGrant, part: PartId): Promise<void> {
    const bytes = await grant.source.read(part).catch((error: unknown) => {
      throw ServingError.from(error, "kv_transfer_failed");
    });
    await this.#deps.clock.sleep(this.#delayMs(bytes.length));
    if (pull.settled || !grant.live) return;
    grant.extend();
    await pull.request.onPart(part, bytes.slice());
  }

  /** The source's side has gone away. */
  #cut(pull: PendingPull, grant: PullGrant): void {
    this.#deps.counters.pullsRefused.add(1, { reason: "cut" });
    pull.fail(lost("the connection broke"));
    grant.abandon("cut");
  }
}

function lost(problem: string): ServingError {
  return new ServingError("kv_transfer_failed", { problem });
}
