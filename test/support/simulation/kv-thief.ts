import { createKvTransferMetrics, type KvMover } from "@baton/kv-transfer";
import { KvHandoff, type RequestState, ServingError } from "@baton/protocol";
import { ProcessClock } from "@baton/runtime";
import type { SimCluster } from "./sim-cluster.ts";
import { SimMetrics } from "./sim-metrics.ts";
import { SimMover } from "./sim-mover.ts";

type Trick = "wrong-secret" | "replay";

/** Somebody who reads tickets off the bus and pulls with them. No such pull may ever bring anything. */
export class KvThief {
  /** Pulls that were refused, by the source's reason; `none` where it cannot be reached or knows no such ticket. */
  readonly refused = new Map<string, number>();
  readonly #mover: KvMover;
  readonly #report: (problem: string) => void;
  readonly #waiting: Trick[] = [];
  /** Tickets to show again, by request. */
  readonly #kept = new Map<string, KvHandoff>();

  constructor(cluster: SimCluster, report: (problem: string) => void) {
    const clock = new ProcessClock(cluster.clock);
    this.#report = report;
    this.#mover = new SimMover(cluster.transfers, clock, {
      clock,
      counters: createKvTransferMetrics(new SimMetrics()),
      desk: {
        openPull: () => {
          throw new ServingError("internal", { problem: "nobody pulls from here" });
        },
      },
    });
  }

  /** The next ticket on the bus is misused. */
  waitForTicket(trick: Trick): void {
    this.#waiting.push(trick);
  }

  onTicket(requestId: string, handoff: Uint8Array): void {
    const trick = this.#waiting.shift();
    if (trick === undefined) return;
    const ticket = KvHandoff.decode(handoff);
    if (trick === "replay") {
      this.#kept.set(requestId, ticket);
      return;
    }
    const secret = Uint8Array.from(ticket.secret ?? [0], (byte) => byte ^ 0xff);
    this.#pull({ ...ticket, secret }, trick);
  }

  /** Decode streams when it has pulled: from then on its ticket is used. */
  onState(requestId: string, state: RequestState): void {
    const ticket = this.#kept.get(requestId);
    if (ticket === undefined || state !== "decode.streaming") return;
    this.#kept.delete(requestId);
    this.#pull(ticket, "replay");
  }

  #pull(ticket: KvHandoff, trick: Trick): void {
    this.#mover
      .pull({ ticket, parts: ["tail"], onPart: () => this.#report(`a ${trick} brings a part`) })
      .done.then(
        () => this.#report(`a ${trick} of ${ticket.handoffId} is served`),
        (error: unknown) => {
          const { reason } = ServingError.from(error).details;
          const key = typeof reason === "string" ? reason : "none";
          this.refused.set(key, (this.refused.get(key) ?? 0) + 1);
        },
      );
  }
}
