import {
  ActorHeartbeat,
  type ActorId,
  type ActorRole,
  actorId,
  Catalog,
  type CatalogWorker,
  Decode,
  Generate,
  LoadReport,
  modelName,
  type RequestId,
  RouteDecode,
  requestId,
} from "@baton/protocol";
import type { Bus } from "@baton/runtime";
import {
  catalog,
  catalogWorker,
  type MemoryCluster,
  memoryCluster,
  testModel,
  workerRegistration,
} from "@baton/testing";

export const model = modelName(testModel);
const beatMs = 250;

/** A request of Frontend `f-1` for a decode worker, without a ticket. */
export function routeDecode(id: string, changes: Partial<RouteDecode> = {}): RouteDecode {
  return {
    requestId: requestId(id),
    frontendId: actorId("f-1"),
    frontendGeneration: 1,
    stream: 7,
    timeoutMs: 10_000,
    promptTokens: 128,
    blockHashes: new Uint8Array(16),
    sequenceHashes: new Uint8Array(16),
    rules: null,
    work: new Uint8Array([1, 2, 3]),
    traceparent: null,
    handoff: null,
    overrides: null,
    pool: "decode",
    ...changes,
  };
}

/** A worker's registration; its type is the first letter of its id: `p-1`, `d-1`, `a-1`. */
export function registered(id: string, changes: Parameters<typeof workerRegistration>[0] = {}) {
  const types = { p: "prefill", d: "decode", a: "aggregated" } as const;
  const workerType = types[id[0] as "p"] ?? "aggregated";
  return workerRegistration({ id, workerType, ...changes });
}

interface PlayedWorker {
  readonly generation: number;
  readonly bus: Bus;
  readonly timer: { cancel(): void };
}

/** Discovery, workers and a Frontend, as the test plays them. */
export class PlayedCluster {
  readonly memory: MemoryCluster;
  /** What workers got. */
  readonly commands: { readonly id: RequestId; readonly verb: string; readonly worker: string }[] =
    [];
  /** Requests that nobody listened for. */
  readonly bounced: string[] = [];
  readonly #discovery: Bus;
  readonly #frontend: Bus;
  readonly #workers = new Map<string, PlayedWorker>();
  #listed: readonly CatalogWorker[] = [];
  #revision = 0;

  constructor(seed = 1) {
    this.memory = memoryCluster({ seed, maxDelayMs: 4 });
    this.#discovery = this.memory.bus("disc");
    this.#frontend = this.memory.bus("f-1");
    this.#frontend.onUndeliverable((key) => void this.bounced.push(key));
    this.#discovery.subscribe(this.memory.subjects.getCatalog(), (message) =>
      message.respond(Catalog.encode(this.#catalog())),
    );
  }

  pass(ms = 20): Promise<void> {
    return this.memory.clock.advanceBy(ms);
  }

  /** Starts workers, and lists them. One that was here before comes back in a later generation. */
  join(...starting: readonly ReturnType<typeof registered>[]): void {
    const registrations = starting.map((registration) => {
      const generation = registration.generation + this.#revision;
      return { ...registration, generation: this.#play(registration.id, generation) };
    });
    this.#list([
      ...this.#listed.filter((listed) =>
        registrations.every(({ id }) => id !== listed.registration.id),
      ),
      ...registrations.map((registration) => catalogWorker(registration)),
    ]);
  }

  /** Workers say goodbye, and are listed no more. */
  leave(...ids: readonly string[]): void {
    for (const id of ids) {
      this.#beat("worker", id, "stopped");
      this.#workers.get(id)?.timer.cancel();
      this.memory.network.kill(actorId(id));
      this.#workers.delete(id);
    }
    this.#list(this.#listed.filter(({ registration }) => !ids.includes(registration.id)));
  }

  ask(request: RouteDecode): void {
    const subject = this.memory.subjects.route("decode-router", model);
    this.#frontend.publish(subject, RouteDecode.encode(request), { bounceKey: request.requestId });
  }

  /** A worker says what has ended and what it runs. */
  report(id: string, facts: Pick<LoadReport, "sequence"> & Partial<LoadReport>): void {
    const worker = this.#workers.get(id);
    if (worker === undefined) throw new Error(`no worker ${id}`);
    const report = {
      workerId: actorId(id),
      generation: worker.generation,
      accepting: true,
      runningSequences: 0,
      waitingSequences: 0,
      activeBlocks: 0,
      cachedBlocks: 0,
      totalBlocks: 100,
      waitingPrefillTokens: 0,
      handoffsHeld: 0,
      endedBookings: [],
      liveBookings: null,
      ...facts,
    };
    const subject = this.memory.subjects.loadReported(model, actorId(id));
    worker.bus.publish(subject, LoadReport.encode(report));
  }

  #catalog(): Catalog {
    return catalog(this.#listed, { revision: this.#revision });
  }

  #list(workers: readonly CatalogWorker[]): void {
    this.#revision += 1;
    this.#listed = workers;
    this.#discovery.publish(
      this.memory.subjects.catalogPublished(),
      Catalog.encode(this.#catalog()),
    );
  }

  #play(id: string, generation: number): number {
    const known = this.#workers.get(id);
    if (known !== undefined) return known.generation;
    const bus = this.memory.bus(id);
    const { subjects, clock } = this.memory;
    bus.subscribe(subjects.probe("worker", actorId(id)), () => undefined);
    for (const verb of ["generate", "decode"] as const) {
      bus.subscribe(subjects.worker(verb, model, actorId(id)), ({ payload }) => {
        const command = (verb === "decode" ? Decode : Generate).decode(payload);
        this.commands.push({ id: command.requestId, verb, worker: id });
      });
    }
    const timer = clock.setRepeating(beatMs, () => this.#beat("worker", id, "ready"));
    this.#workers.set(id, { generation, bus, timer });
    this.#beat("worker", id, "ready");
    return generation;
  }

  #beat(role: ActorRole, id: string, state: ActorHeartbeat["state"]): void {
    const worker = this.#workers.get(id);
    if (worker?.bus.state !== "connected") return;
    const heartbeat: ActorHeartbeat = {
      id,
      role,
      namespace: this.memory.namespace,
      model: testModel,
      generation: worker.generation,
      sequence: 1,
      intervalMs: beatMs,
      state,
      why: null,
      pid: 1,
      host: "h",
      admin: null,
      workerType: null,
      set: null,
      activation: null,
      catalog: null,
      api: null,
    };
    worker.bus.publish(
      this.memory.subjects.heartbeat(role, model, id as ActorId),
      ActorHeartbeat.encode(heartbeat),
    );
  }
}
