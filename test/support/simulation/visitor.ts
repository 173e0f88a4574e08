import {
  actorId,
  KvSnapshot,
  nameToken,
  type SubjectRow,
  Subjects,
  subjectTable,
} from "@baton/protocol";
import { type Bus, ProcessClock, silentLogger } from "@baton/runtime";
import { type SimCluster, simModel } from "./sim-cluster.ts";
import { SimMetrics } from "./sim-metrics.ts";

/** Who comes to look, and to publish what is no message. */
export const visitorId = actorId("visitor");
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

  /** What the aggregator answers to a follower that comes late. Rejects if it does not. */
  async askForSnapshot(): Promise<KvSnapshot> {
    const subject = new Subjects(this.#cluster.namespace).getKvSnapshot(simModel);
    const answer = await this.#bus.request(subject, new Uint8Array(0), { timeoutMs: 2_000 });
    return KvSnapshot.decode(answer);
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
