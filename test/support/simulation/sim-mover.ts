import {
  type KvMover,
  MemoryKvExchange,
  MemoryKvMover,
  type Pull,
  type PullRequest,
} from "@baton/kv-transfer";
import { ServingError } from "@baton/protocol";
import type { ProcessClock } from "@baton/runtime";

type MoverDeps = ConstructorParameters<typeof MemoryKvMover>[1];

/** The KV link of one run: who serves which address. */
export class SimTransfers {
  readonly exchange = new MemoryKvExchange();
  readonly #hosts = new Map<string, SimMover>();

  host(address: string | null): SimMover | undefined {
    return address === null ? undefined : this.#hosts.get(address);
  }

  add(address: string, mover: SimMover): void {
    this.#hosts.set(address, mover);
  }
}

/** What becomes of the parts of a pull: the connection breaks before one, or a bit of one is another. */
export type PullTrouble = "cut" | "spoilt";

/**
 * A mover in memory whose process can stop and die: who pulls from one that stands still waits, and who pulls from one
 * that dies sees the connection break, as over TCP.
 */
export class SimMover implements KvMover {
  /** What happens to pulls that begin here, or that come here; null if nothing. */
  trouble: PullTrouble | null = null;
  readonly #transfers: SimTransfers;
  readonly #inner: MemoryKvMover;
  readonly #process: ProcessClock;
  readonly #waiting = new Set<() => void>();
  #isDead = false;

  constructor(transfers: SimTransfers, process: ProcessClock, deps: MoverDeps) {
    this.#transfers = transfers;
    this.#process = process;
    this.#inner = new MemoryKvMover({ exchange: transfers.exchange }, deps);
  }

  get address(): string | null {
    return this.#inner.address;
  }

  async listen(): Promise<void> {
    await this.#inner.listen();
    if (this.address !== null) this.#transfers.add(this.address, this);
  }

  pull(request: PullRequest): Pull {
    const host = this.#transfers.host(request.ticket.address);
    if (host === undefined) return this.#inner.pull(request);
    const trouble = this.trouble ?? host.trouble;
    const whole = trouble === null ? request : inTrouble(request, trouble);
    return new GatedPull(host, whole, (gated) => this.#inner.pull(gated));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** The process has died: its sockets close. */
  die(): void {
    this.#isDead = true;
    for (const tell of [...this.#waiting]) tell();
    this.#waiting.clear();
    void this.#inner.close();
  }

  /** Resolves when the process runs, and rejects when it is dead. */
  whenRunning(): Promise<void> {
    return new Promise((resolve, reject) => {
      const die = () => {
        const problem = "the source cannot be reached";
        reject(new ServingError("kv_transfer_failed", { problem }));
      };
      if (this.#isDead) {
        die();
        return;
      }
      this.#waiting.add(die);
      this.#process.setTimer(0, () => {
        this.#waiting.delete(die);
        resolve();
      });
    });
  }
}

/** A pull that goes on while its source runs. */
class GatedPull implements Pull {
  readonly done: Promise<void>;
  #inner: Pull | null = null;
  #cancel: () => void = () => undefined;

  constructor(host: SimMover, request: PullRequest, begin: (request: PullRequest) => Pull) {
    const cancelled = new Promise<never>((_, reject) => {
      this.#cancel = () => reject(new ServingError("cancelled"));
    });
    cancelled.catch(() => undefined); // its owner may have stopped listening
    const gated: PullRequest = {
      ...request,
      onPart: async (part, bytes) => {
        await host.whenRunning();
        await request.onPart(part, bytes);
      },
    };
    this.done = Promise.race([cancelled, host.whenRunning()]).then(() => {
      this.#inner = begin(gated);
      return this.#inner.done;
    });
    this.done.catch(() => undefined);
  }

  cancel(): void {
    if (this.#inner === null) this.#cancel();
    else this.#inner.cancel();
  }
}

/** A pull whose last part never comes, or comes with another first bit. */
function inTrouble(request: PullRequest, trouble: PullTrouble): PullRequest {
  const last = request.parts.at(-1);
  return {
    ...request,
    onPart: (part, bytes) => {
      if (part !== last) return request.onPart(part, bytes);
      if (trouble === "cut") {
        throw new ServingError("kv_transfer_failed", { problem: "the connection broke" });
      }
      const spoilt = Uint8Array.from(bytes, (byte, index) => (index === 0 ? byte ^ 1 : byte));
      return request.onPart(part, spoilt);
    },
  };
}
