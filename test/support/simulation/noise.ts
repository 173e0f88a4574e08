import { actorId, nameToken, type SubjectRow, Subjects, subjectTable } from "@baton/protocol";
import { type Bus, ProcessClock, silentLogger } from "@baton/runtime";
import { type SimCluster, simModel } from "./sim-cluster.ts";
import { SimMetrics } from "./sim-metrics.ts";

/** Who publishes what is no message. */
export const noiseId = actorId("noise");
/** The byte that no message begins with: msgpack leaves it unused. */
export const noiseByte = 0xc1;

/** Somebody on the bus who speaks no language of ours. */
export class Noise {
  readonly #cluster: SimCluster;
  readonly #bus: Bus;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
    const process = new ProcessClock(cluster.clock);
    this.#bus = cluster.network.connect({
      id: noiseId,
      subjects: new Subjects(cluster.namespace),
      clock: process,
      process,
      log: silentLogger(),
      metrics: new SimMetrics(),
    });
  }

  /** Says it on one kind of subject, to every actor that may listen there. Kinds without a message are left out. */
  sayOn(row: number, bytes: Uint8Array): void {
    const entry = subjectTable[row % subjectTable.length];
    if (entry === undefined || entry.message === null) return;
    for (const subject of this.#subjectsOf(entry)) this.#bus.publish(subject, bytes);
  }

  /** Says it on every kind of subject. */
  sayEverywhere(bytes: Uint8Array): void {
    for (let row = 0; row < subjectTable.length; row++) this.sayOn(row, bytes);
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
    const ids = listeners.map(({ id }) => id).concat(listeners.length === 0 ? [noiseId] : []);
    return ids.map((id) => subject.replace("<id>", id));
  }
}
