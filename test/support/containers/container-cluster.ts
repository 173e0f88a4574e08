import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import type { ActorRole } from "@baton/protocol";
import {
  type ActorSpec,
  asArguments,
  BusWatch,
  heldGauges,
  type ModelStatus,
  readStatus,
  type Status,
  samples,
  waitUntil,
} from "../processes/index.ts";
import { BusNetwork } from "./bus-network.ts";
import { TestContainer } from "./container.ts";
import { connectDocker, type Docker } from "./engine.ts";
import { images } from "./images.ts";
import { NatsLogins } from "./nats-users.ts";

const apiPort = 8_000;
const adminPort = 8_001;
const readyTimeoutMs = 60_000;
const natsFolder = new URL("../../../infra/nats/", import.meta.url);
const natsFiles = ["nats.conf", "nats-cluster.conf", "permissions.conf"];

/** What a cluster of containers begins with. */
export interface ContainerClusterOptions {
  /** NATS servers, default one; three make a cluster. */
  readonly servers?: number;
  /** Whether the test looks at every actor's figures, and not just at what is said on the bus and to clients. Default true. */
  readonly hasFigures?: boolean;
}

/** Actors and NATS servers, each in a container of its own, on a private network. */
export class ContainerCluster {
  readonly servers: readonly string[];
  readonly #docker: Docker;
  readonly #network: BusNetwork;
  readonly #logins = new NatsLogins();
  readonly #containers = new Map<string, TestContainer>();
  readonly #roles = new Map<string, ActorRole>();
  /** Killed or frozen: they answer no test. */
  readonly #away = new Set<string>();
  readonly #watches = new Map<string, BusWatch>();
  readonly #natsPorts: readonly number[];
  readonly #hasFigures: boolean;
  #started = 0;

  /** Makes the network. The image of the actors is built before the suite. */
  static async open(options: ContainerClusterOptions = {}): Promise<ContainerCluster> {
    const docker = await connectDocker();
    const network = await BusNetwork.make(docker, `baton-${randomUUID().slice(0, 8)}`);
    const natsPorts = await freePorts(options.servers ?? 1);
    return new ContainerCluster(docker, network, natsPorts, options.hasFigures ?? true);
  }

  private constructor(
    docker: Docker,
    network: BusNetwork,
    natsPorts: readonly number[],
    hasFigures: boolean,
  ) {
    this.#hasFigures = hasFigures;
    this.#docker = docker;
    this.#network = network;
    this.#natsPorts = natsPorts;
    this.servers = natsPorts.map((_, index) => `nats-${index + 1}`);
  }

  /** Starts every NATS server. */
  async startNats(): Promise<void> {
    await Promise.all(this.servers.map((name, index) => this.#startServer(name, index)));
  }

  /** Starts an actor; it need not be heard yet. */
  async start(spec: ActorSpec, namespace = "default"): Promise<void> {
    const { role, id, flags = {} } = spec;
    const first = this.#started++ % this.servers.length;
    // Each begins with another server, so that what they say crosses from one to the next.
    const urls = [...this.servers.slice(first), ...this.servers.slice(0, first)];
    const key = keyOf(id, namespace);
    const container = await TestContainer.start(this.#docker, {
      alias: key,
      image: images.actor,
      network: this.#network.name,
      command: [
        role,
        ...asArguments({
          id,
          namespace,
          nats: urls.map((name) => `nats://${name}:4222`).join(","),
          "nats-creds": "/run/nats-login.json",
          ...(role === "worker" && { "transfer-host": key }),
          ...flags,
        }),
      ],
      files: { "/run/nats-login.json": this.#logins.text(role) },
      ports: [...(role === "frontend" ? [apiPort] : []), ...(this.#hasFigures ? [adminPort] : [])],
      saysOnceUp: /actor state/,
    });
    this.#containers.set(key, container);
    this.#roles.set(key, role);
  }

  /** A container by an actor's or server's name. */
  container(id: string, namespace = "default"): TestContainer {
    const found = this.#containers.get(keyOf(id, namespace));
    if (found === undefined) throw new Error(`there is no ${id}`);
    return found;
  }

  async kill(id: string, namespace?: string): Promise<number> {
    this.#away.add(keyOf(id, namespace));
    return await this.container(id, namespace).kill();
  }

  /** Asks it to end, and waits for that. */
  async stop(id: string): Promise<number> {
    this.#away.add(id);
    return await this.container(id).stop();
  }

  async startAgain(id: string, namespace?: string): Promise<void> {
    await this.container(id, namespace).startAgain();
    this.#away.delete(keyOf(id, namespace));
  }

  async pause(id: string): Promise<number> {
    this.#away.add(id);
    return await this.container(id).pause();
  }

  async resume(id: string): Promise<number> {
    const atMs = await this.container(id).resume();
    this.#away.delete(id);
    return atMs;
  }

  /** Takes a container off the private network. Resolves with `performance.now()` when it is off. */
  async cut(id: string): Promise<number> {
    await this.#network.cut(this.container(id).id);
    return performance.now();
  }

  async heal(id: string): Promise<number> {
    await this.#network.heal(this.container(id).id, id);
    return performance.now();
  }

  /** `tcp` addresses of the servers, for the test. */
  get natsUrl(): string {
    return this.#natsPorts.map((port) => `nats://127.0.0.1:${port}`).join(",");
  }

  /** Hears a namespace as the user `watcher`. */
  async watch(namespace = "default"): Promise<BusWatch> {
    const known = this.#watches.get(namespace);
    if (known !== undefined) return known;
    const watch = await BusWatch.join(this.natsUrl, namespace, this.#logins.file("watcher"));
    this.#watches.set(namespace, watch);
    return watch;
  }

  /** The APIs of Frontends, by id. */
  get apis(): ReadonlyMap<string, string> {
    return new Map(
      this.#keysOf((role) => role === "frontend").map((key) => [key, this.api(key)] as const),
    );
  }

  api(id: string, namespace?: string): string {
    return `http://${this.container(id, namespace).address(apiPort)}`;
  }

  /** What `baton status --json` prints. */
  status(namespace = "default"): Promise<Status> {
    const login = ["--nats-creds", this.#logins.file("watcher")];
    return readStatus("--nats", this.natsUrl, ...login, "--namespace", namespace);
  }

  async modelStatus(namespace?: string): Promise<ModelStatus | undefined> {
    return (await this.status(namespace)).models[0];
  }

  /** Waits until status shows all that were started as ready, each worker as live, none as lost, and the model as served. */
  async untilWhole(): Promise<Status> {
    let last = {};
    try {
      return await waitUntil(
        "everybody to be ready",
        async () => {
          const status = await this.status();
          last = status;
          return this.#isWhole(status) && status;
        },
        { timeoutMs: readyTimeoutMs },
      );
    } catch (cause) {
      const text = `${JSON.stringify(last)}\n${await this.printed()}`;
      throw new Error(`not everybody is there: ${text}`, { cause });
    }
  }

  /** A figure of one actor. */
  async metric(id: string, name: string): Promise<number> {
    return samples(await this.#page(id), name).reduce((sum, value) => sum + value, 0);
  }

  /** Waits until nothing is held by anybody. */
  async untilIdle(timeoutMs = 15_000): Promise<void> {
    let held: readonly string[] = [];
    try {
      await waitUntil(
        "nothing to be held",
        async () => {
          held = await this.#held();
          return held.length === 0;
        },
        { timeoutMs, everyMs: 100 },
      );
    } catch (cause) {
      throw new Error(`still held: ${held.join(", ")}`, { cause });
    }
  }

  /** The ends of all logs, for a failure's message. */
  async printed(): Promise<string> {
    const texts = [...this.#containers].map(
      async ([key, container]) => `${key}:\n${await container.lastLines()}`,
    );
    return (await Promise.all(texts)).join("\n");
  }

  /** Removes all that was made. */
  async close(): Promise<void> {
    await Promise.all([...this.#watches.values()].map((watch) => watch.close()));
    await Promise.all([...this.#containers.values()].map((container) => container.remove()));
    await this.#network.remove();
    this.#logins.remove();
  }

  async #startServer(name: string, index: number): Promise<void> {
    const isCluster = this.servers.length > 1;
    const routes = this.servers.map((server) => `nats://route:secret@${server}:6222`);
    const container = await TestContainer.start(this.#docker, {
      alias: name,
      image: images.nats,
      network: this.#network.name,
      command: ["-c", `/etc/nats/${isCluster ? "nats-cluster.conf" : "nats.conf"}`],
      environment: {
        ...this.#logins.environment,
        BATON_NATS_NAME: name,
        BATON_NATS_ROUTES: JSON.stringify(routes),
        BATON_NATS_ROUTE_PASSWORD: "secret",
      },
      files: Object.fromEntries(
        natsFiles.map((file) => [
          `/etc/nats/${file}`,
          readFileSync(fileURLToPath(new URL(file, natsFolder)), "utf8"),
        ]),
      ),
      ports: [{ container: 4_222, host: this.#natsPorts[index] ?? 0 }],
      saysOnceUp: /Server is ready/,
    });
    this.#containers.set(name, container);
  }

  #isWhole({ actors, models }: Status): boolean {
    const model = models[0];
    const ready = new Set(actors.filter(({ state }) => state === "ready").map(({ id }) => id));
    const live = model?.sets.reduce((sum, set) => sum + set.live, 0);
    return (
      model?.ready === true &&
      model.sets.every(({ lost }) => lost === 0) &&
      live === this.#keysOf((role) => role === "worker").length &&
      this.#keysOf(() => true).every((key) => ready.has(key))
    );
  }

  async #held(): Promise<readonly string[]> {
    const keys = this.#keysOf(() => true).filter((key) => !this.#away.has(key));
    const pages = await Promise.all(keys.map(async (key) => [key, await this.#page(key)] as const));
    return pages.flatMap(([key, page]) =>
      heldGauges.flatMap((name) => {
        const sum = samples(page, name).reduce((total, value) => total + value, 0);
        return sum === 0 ? [] : [`${key} ${name} ${sum}`];
      }),
    );
  }

  async #page(id: string): Promise<string> {
    const url = `http://${this.container(id).address(adminPort)}/metrics`;
    return await (await fetch(url, { signal: AbortSignal.timeout(5_000) })).text();
  }

  #keysOf(which: (role: ActorRole) => boolean): readonly string[] {
    return [...this.#roles].filter(([, role]) => which(role)).map(([key]) => key);
  }
}

/** Names on the network; actors of other namespaces have other names. */
function keyOf(id: string, namespace = "default"): string {
  return namespace === "default" ? id : `${namespace}-${id}`;
}

/** Ports of this machine that nobody has. Docker gives a container that starts again other ports, unless they were asked for. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(
    servers.map((server) => new Promise((resolve) => server.once("listening", resolve))),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
