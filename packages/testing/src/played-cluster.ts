import {
  actorId,
  LegFailed,
  LoadReport,
  type MessageType,
  modelName,
  Queued,
  type RequestHead,
  type RequestId,
  type RouterRole,
  type WorkerRegistration,
  type WorkerVerb,
} from "@baton/protocol";
import type { Bus } from "@baton/runtime";
import { catalogWorker, testModel } from "./builders.ts";
import { type MemoryCluster, memoryCluster } from "./memory-cluster.ts";
import { loadReport } from "./message-builders.ts";
import { PlayedActor } from "./played-actor.ts";
import { PlayedDiscovery } from "./played-discovery.ts";

const model = modelName(testModel);
const frontendId = actorId("f-1");

/** Which router a cluster is played around: what it is asked, and what it sends to workers. */
export interface PlayedRouting<Request extends RequestHead, Command extends RequestHead> {
  readonly role: RouterRole;
  readonly request: Pick<MessageType<Request>, "encode">;
  readonly commands: Readonly<Partial<Record<WorkerVerb, Pick<MessageType<Command>, "decode">>>>;
}

/** A command that came to a worker. */
export interface PlayedCommand<Command> {
  readonly id: RequestId;
  readonly verb: string;
  readonly worker: string;
  readonly command: Command;
}

/** Discovery, workers and the Frontend `f-1` around a router of `testModel`, as the test plays them. */
export class PlayedCluster<Request extends RequestHead, Command extends RequestHead> {
  readonly memory: MemoryCluster;
  /** What workers got. */
  readonly commands: PlayedCommand<Command>[] = [];
  /** Requests that nobody listened for. */
  readonly bounced: string[] = [];
  /** What the Frontend was told of requests that were not sent: `queued r1`, `failed r1 overloaded`. */
  readonly notices: string[] = [];
  readonly #routing: PlayedRouting<Request, Command>;
  readonly #discovery: PlayedDiscovery;
  readonly #frontend: Bus;
  readonly #workers = new Map<string, PlayedActor>();

  constructor(routing: PlayedRouting<Request, Command>, seed = 1) {
    this.#routing = routing;
    this.memory = memoryCluster({ seed, maxDelayMs: 4 });
    this.#discovery = new PlayedDiscovery(this.memory);
    this.#frontend = this.memory.bus(frontendId);
    this.#frontend.onUndeliverable((key) => void this.bounced.push(key));
    this.#hearNotices();
  }

  /** Lets time pass, by default enough for a request to come to its worker. */
  pass(ms = 20): Promise<void> {
    return this.memory.clock.advanceBy(ms);
  }

  /** Starts workers, and lists them. One that was here before comes back in a later generation. */
  join(...starting: readonly WorkerRegistration[]): void {
    const started = starting.map((registration) => {
      const generation = registration.generation + this.#discovery.revision;
      return { ...registration, generation: this.#play(registration.id, generation).generation };
    });
    this.#discovery.list([
      ...this.#discovery.workers.filter((listed) =>
        started.every(({ id }) => id !== listed.registration.id),
      ),
      ...started.map((registration) => catalogWorker(registration)),
    ]);
  }

  /** Workers say goodbye, and are listed no more. */
  leave(...ids: readonly string[]): void {
    for (const id of ids) {
      this.#workers.get(id)?.leave();
      this.#workers.delete(id);
    }
    this.#discovery.list(
      this.#discovery.workers.filter(({ registration }) => !ids.includes(registration.id)),
    );
  }

  /** A worker dies without a word, and Discovery has not noticed. */
  kill(id: string): void {
    this.#workers.get(id)?.kill();
    this.#workers.delete(id);
  }

  /** The Frontend asks the router. */
  ask(request: Request): void {
    const { role, request: message } = this.#routing;
    const subject = this.memory.subjects.route(role, model);
    this.#frontend.publish(subject, message.encode(request), { bounceKey: request.requestId });
  }

  /** A worker says what has ended and what it runs. */
  report(id: string, facts: Pick<LoadReport, "sequence"> & Partial<LoadReport>): void {
    const worker = this.#workers.get(id);
    if (worker === undefined) throw new Error(`no worker ${id}`);
    const report = loadReport(id, { generation: worker.generation, ...facts });
    const subject = this.memory.subjects.loadReported(model, worker.id);
    worker.bus.publish(subject, LoadReport.encode(report));
  }

  #play(id: string, generation: number): PlayedActor {
    const known = this.#workers.get(id);
    if (known !== undefined) return known;
    const worker = new PlayedActor(this.memory, { role: "worker", id, model, generation });
    this.#workers.set(id, worker);
    for (const [verb, message] of Object.entries(this.#routing.commands)) {
      const subject = this.memory.subjects.worker(verb as WorkerVerb, model, worker.id);
      worker.bus.subscribe(subject, ({ payload }) => {
        const command = message.decode(payload);
        this.commands.push({ id: command.requestId, verb, worker: id, command });
      });
    }
    return worker;
  }

  #hearNotices(): void {
    const { subjects } = this.memory;
    this.#frontend.subscribe(subjects.toFrontend("queued", model, frontendId), ({ payload }) => {
      this.notices.push(`queued ${Queued.decode(payload).requestId}`);
    });
    this.#frontend.subscribe(subjects.toFrontend("failed", model, frontendId), ({ payload }) => {
      const { requestId, error } = LegFailed.decode(payload);
      this.notices.push(`failed ${requestId} ${error.code}`);
    });
  }
}
