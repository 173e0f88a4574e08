import {
  actorId,
  GetKvHistory,
  KvHistory,
  type KvPosition,
  KvPositions,
  nameToken,
  RouteDecode,
  RouteExplained,
  RoutePrefill,
  type RouterRole,
  requestId,
  type SubjectRow,
  Subjects,
  subjectTable,
} from "@baton/protocol";
import { type Bus, ProcessClock, silentLogger } from "@baton/runtime";
import { type SimCluster, simModel } from "./sim-cluster.ts";
import { SimMetrics } from "./sim-metrics.ts";

/** Who comes to look, and to publish what is no message. */
export const visitorId = actorId("visitor");
/** All that a rank holds. */
export type RankDump = Pick<KvPosition, "workerId" | "generation" | "dpRank"> & {
  readonly bodies: readonly Uint8Array[];
};

/** A prompt by the hashes of its full blocks, 8 bytes each. */
export interface PromptHashes {
  readonly tokens: number;
  readonly blockHashes: Uint8Array;
  readonly sequenceHashes: Uint8Array;
}

/** Somebody on the bus who is no actor: asks for what anybody may ask, and says what nobody understands. */
export class Visitor {
  readonly #cluster: SimCluster;
  readonly #bus: Bus;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
    const process = new ProcessClock(cluster.clock);
    this.#bus = cluster.network.connect({
      id: visitorId,
      subjects: new Subjects(cluster.namespace),
      clock: process,
      process,
      log: silentLogger(),
      metrics: new SimMetrics(),
    });
  }

  /** What the aggregator tells a follower that comes late. Rejects if it does not. */
  async askForDumps(): Promise<RankDump[]> {
    const subject = new Subjects(this.#cluster.namespace).getKvPositions(simModel);
    const answer = await this.#bus.request(subject, new Uint8Array(0), { timeoutMs: 2_000 });
    return Promise.all(KvPositions.decode(answer).ranks.map((rank) => this.#askForDump(rank)));
  }

  async #askForDump({ workerId, generation, dpRank }: KvPosition): Promise<RankDump> {
    const subject = new Subjects(this.#cluster.namespace).getKvHistory(simModel);
    const bodies: Uint8Array[] = [];
    let dump: number | null = null;
    for (let page: number | null = 0; page !== null; ) {
      const about = { workerId, generation, dpRank };
      const ask = GetKvHistory.encode({ ...about, from: null, dump, page, atLeast: 0 });
      const answer = KvHistory.decode(await this.#bus.request(subject, ask, { timeoutMs: 2_000 }));
      bodies.push(...answer.bodies);
      dump = answer.lastSequence;
      page = answer.next;
    }
    return { workerId, generation, dpRank, bodies };
  }

  /** Where one router of each role with workers would send a prompt. Rejects if nobody answers. */
  async askForRoutes(prompt: PromptHashes): Promise<RouteExplained[]> {
    const subjects = new Subjects(this.#cluster.namespace);
    const request: RoutePrefill = {
      requestId: requestId("asked"),
      frontendId: visitorId,
      frontendGeneration: 1,
      stream: 1,
      timeoutMs: 1_000,
      promptTokens: prompt.tokens,
      blockHashes: prompt.blockHashes,
      sequenceHashes: prompt.sequenceHashes,
      rules: null,
      work: new Uint8Array(0),
      traceparent: null,
    };
    const rest = { handoff: null, overrides: null, pool: "aggregated" } as const;
    const types = new Set(this.#cluster.living().map(({ planned }) => planned.workerType));
    const roles: RouterRole[] = [];
    if (types.has("prefill")) roles.push("prefill-router");
    if (types.has("aggregated")) roles.push("decode-router");
    return Promise.all(
      roles.map(async (role) => {
        const bytes =
          role === "prefill-router"
            ? RoutePrefill.encode(request)
            : RouteDecode.encode({ ...request, ...rest });
        const subject = subjects.explainRoute(role, simModel);
        return RouteExplained.decode(await this.#bus.request(subject, bytes, { timeoutMs: 2_000 }));
      }),
    );
  }

  /** Says it on one kind of subject, to every actor that may listen there. Kinds without a message are left out. */
  sayOn(row: number, bytes: Uint8Array): void {
    const entry = subjectTable[row];
    if (entry === undefined || entry.message === null) return;
    for (const subject of this.#subjectsOf(entry)) this.#bus.publish(subject, bytes);
  }

  leave(): Promise<void> {
    return this.#bus.close();
  }

  #subjectsOf({ pattern, subscribers }: SubjectRow): string[] {
    const subject = pattern
      .replace("<ns>", nameToken(this.#cluster.namespace))
      .replace("<model>", nameToken(simModel));
    if (!subject.includes("<id>")) return [subject];
    const listeners = this.#cluster.living().filter(({ role }) => subscribers.includes(role));
    // Whose subjects anybody may follow are named after their publisher.
    const ids = listeners.map(({ id }) => id).concat(listeners.length === 0 ? [visitorId] : []);
    return ids.map((id) => subject.replace("<id>", id));
  }
}
