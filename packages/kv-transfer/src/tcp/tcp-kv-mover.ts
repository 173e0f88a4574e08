import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { ServingError } from "@baton/protocol";
import { type Clock, listenProblem, type Timer } from "@baton/runtime";
import type { HandoffDesk, KvMover, Pull, PullRequest } from "../kv-mover.ts";
import type { KvTransferMetrics } from "../kv-transfer-metrics.ts";
import { PendingPull } from "../pending-pull.ts";
import { type ConnectionOwner, PullConnection } from "./pull-connection.ts";
import { ServedConnection } from "./served-connection.ts";
import { formatAddress } from "./transfer-address.ts";
import { defaultTransferLimits, type TransferLimits } from "./transfer-limits.ts";

const sweepMs = 250;

/** Where a mover listens, and its bounds. */
export interface TcpKvMoverOptions {
  /** Put in tickets: where other workers reach this one. */
  readonly host: string;
  /** Address to listen on, default `host`. */
  readonly listenHost?: string | undefined;
  /** 0: any free one. */
  readonly port: number;
  readonly limits?: Partial<TransferLimits>;
}

/** What a mover is given. */
export interface TcpKvMoverDeps {
  readonly clock: Clock;
  readonly counters: KvTransferMetrics;
  readonly desk: HandoffDesk;
}

/**
 * Moves KV over TCP. Connections to a source are kept and used again, one pull at a time on each. Every wait has an end:
 * one timer sweeps all connections while there are any.
 */
export class TcpKvMover implements KvMover {
  readonly #options: TcpKvMoverOptions;
  readonly #deps: TcpKvMoverDeps;
  readonly #limits: TransferLimits;
  readonly #served = new Set<ServedConnection>();
  readonly #pulling = new Set<PullConnection>();
  readonly #idle = new Map<string, PullConnection[]>();
  readonly #owner: ConnectionOwner = {
    onIdle: (connection) => this.#keep(connection),
    onStale: (pull) => this.#startAnew(pull),
    onClosed: (connection) => this.#forget(connection),
  };
  #server: Server | null = null;
  #address: string | null = null;
  #sweeper: Timer | null = null;
  #closed = false;

  constructor(options: TcpKvMoverOptions, deps: TcpKvMoverDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#limits = { ...defaultTransferLimits, ...options.limits };
  }

  get address(): string | null {
    return this.#address;
  }

  /** Connections of both directions that are open. */
  get connections(): number {
    return this.#served.size + this.#pulling.size;
  }

  async listen(): Promise<void> {
    const listenHost = this.#options.listenHost ?? this.#options.host;
    const server = createServer({ noDelay: true }, (socket) => this.#serve(socket));
    server.maxConnections = this.#limits.maxServed;
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => {
        reject(
          new ServingError(
            "config_invalid",
            {
              problem: listenProblem(formatAddress(listenHost, this.#options.port), error),
              option: "transfer-port",
            },
            { cause: error },
          ),
        );
      });
      server.listen(this.#options.port, listenHost, () => {
        server.removeAllListeners("error");
        // A failed accept concerns one peer, which sees it on its side.
        server.on("error", () => {});
        resolve();
      });
    });
    const { port } = server.address() as AddressInfo;
    this.#address = formatAddress(this.#options.host, port);
  }

  pull(request: PullRequest): Pull {
    const pull = new PendingPull(request);
    try {
      this.#start(pull);
    } catch (error) {
      pull.fail(error);
    }
    return pull;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#address = null;
    this.#sweeper?.cancel();
    this.#sweeper = null;
    for (const connection of [...this.#pulling]) connection.destroy(null);
    for (const connection of [...this.#served]) connection.destroy();
    this.#idle.clear();
    const server = this.#server;
    this.#server = null;
    if (server !== null) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  #keep(connection: PullConnection): void {
    const kept = this.#idle.get(connection.address);
    if (kept === undefined) this.#idle.set(connection.address, [connection]);
    else if (kept.length < this.#limits.maxIdlePerPeer) kept.push(connection);
    else connection.destroy(null);
  }

  #startAnew(pull: PendingPull): void {
    try {
      this.#startOn(this.#connect(addressOf(pull.request)), pull);
    } catch (error) {
      pull.fail(error);
    }
  }

  #forget(connection: PullConnection): void {
    this.#pulling.delete(connection);
    const kept = this.#idle.get(connection.address);
    const at = kept?.indexOf(connection) ?? -1;
    if (kept === undefined || at < 0) return;
    kept.splice(at, 1);
    if (kept.length === 0) this.#idle.delete(connection.address);
  }

  #start(pull: PendingPull): void {
    if (this.#closed)
      throw new ServingError("kv_transfer_failed", { problem: "the mover is closed" });
    const address = addressOf(pull.request);
    this.#startOn(this.#takeIdle(address) ?? this.#connect(address), pull);
  }

  #startOn(connection: PullConnection, pull: PendingPull): void {
    connection.start(pull);
    this.#keepSweeping();
  }

  /** The connection used last: the others can grow old. */
  #takeIdle(address: string): PullConnection | null {
    const kept = this.#idle.get(address);
    for (let connection = kept?.pop(); connection !== undefined; connection = kept?.pop()) {
      if (kept?.length === 0) this.#idle.delete(address);
      if (connection.usable) return connection;
    }
    return null;
  }

  #connect(address: string): PullConnection {
    const connection = new PullConnection(address, {
      clock: this.#deps.clock,
      counters: this.#deps.counters,
      limits: this.#limits,
      owner: this.#owner,
    });
    this.#pulling.add(connection);
    return connection;
  }

  #serve(socket: Socket): void {
    const connection = new ServedConnection(socket, {
      clock: this.#deps.clock,
      limits: this.#limits,
      desk: this.#deps.desk,
      onClosed: (closed) => this.#served.delete(closed),
    });
    this.#served.add(connection);
    this.#keepSweeping();
  }

  #keepSweeping(): void {
    if (this.#sweeper !== null || this.#closed) return;
    this.#sweeper = this.#deps.clock.setRepeating(sweepMs, () => this.#sweep());
  }

  #sweep(): void {
    const nowMs = this.#deps.clock.nowMs();
    for (const connection of this.#pulling) connection.sweep(nowMs);
    for (const connection of this.#served) connection.sweep(nowMs);
    if (this.connections > 0) return;
    this.#sweeper?.cancel();
    this.#sweeper = null;
  }
}

function addressOf(request: PullRequest): string {
  const { address, secret, transport, handoffId } = request.ticket;
  if (transport === "blocks" && address !== null && secret !== null) return address;
  throw new ServingError("handoff_refused", {
    problem: "the ticket's KV is not moved over TCP",
    reason: "transport",
    handoffId,
    transport,
  });
}
