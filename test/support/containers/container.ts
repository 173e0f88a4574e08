import { GenericContainer, type StartedTestContainer, Wait } from "testcontainers";
import type { Docker } from "./engine.ts";

const startTimeoutMs = 120_000;
const linesShown = 8;

/** What a container is started with. */
export interface ContainerPlan {
  /** Its name on the private network. */
  readonly alias: string;
  readonly image: string;
  readonly network: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Small files by their path in the container. */
  readonly files?: Readonly<Record<string, string>>;
  /** Ports for the test: any on this machine, or a certain one. With none it is on the private network alone, and starts sooner. */
  readonly ports: readonly (number | { readonly container: number; readonly host: number })[];
  /** The line of its log that says that it runs. */
  readonly saysOnceUp: RegExp;
}

/** Without the image's health check: dozens of them at once would keep a small machine busy. */
class QuietContainer extends GenericContainer {
  constructor(image: string) {
    super(image);
    this.createOpts.Healthcheck = { Test: ["NONE"] };
  }

  /** Puts it on one network and no other. Else it is on Docker's ordinary bridge first. */
  withOnly(network: string, alias: string): this {
    this.createOpts.NetworkingConfig = { EndpointsConfig: { [network]: { Aliases: [alias] } } };
    return this.withNetworkMode(network);
  }
}

/** One container, which may be killed, paused and started again. */
export class TestContainer {
  readonly plan: ContainerPlan;
  readonly #docker: Docker;
  readonly #container: StartedTestContainer;
  #ports = new Map<number, number>();

  static async start(docker: Docker, plan: ContainerPlan): Promise<TestContainer> {
    const files = Object.entries(plan.files ?? {});
    const quiet = new QuietContainer(plan.image);
    if (plan.ports.length === 0) quiet.withOnly(plan.network, plan.alias);
    else quiet.withNetworkMode(plan.network).withNetworkAliases(plan.alias);
    const container = await quiet
      .withCommand([...plan.command])
      .withEnvironment({ ...plan.environment })
      .withCopyContentToContainer(
        files.map(([target, content]) => ({ target, content, mode: 0o444 })),
      )
      .withExposedPorts(...plan.ports)
      .withStartupTimeout(startTimeoutMs)
      .withWaitStrategy(Wait.forLogMessage(plan.saysOnceUp))
      .start();
    const started = new TestContainer(docker, plan, container);
    await started.#findPorts();
    return started;
  }

  private constructor(docker: Docker, plan: ContainerPlan, container: StartedTestContainer) {
    this.#docker = docker;
    this.plan = plan;
    this.#container = container;
  }

  get id(): string {
    return this.#container.getId();
  }

  /** `127.0.0.1:PORT` by which the test reaches a port of the container. */
  address(port: number): string {
    const host = this.#ports.get(port);
    if (host === undefined) throw new Error(`${this.plan.alias} has no port ${port}`);
    return `127.0.0.1:${host}`;
  }

  /** Ends its process at once, as a crash does, if it runs. Resolves with `performance.now()` of its end, as the engine saw it. */
  async kill(): Promise<number> {
    if ((await this.#state()).Running) await this.#raw.kill({ signal: "SIGKILL" });
    return await this.#end();
  }

  /** Asks its process to end and waits for that, twenty seconds at most. Resolves with `performance.now()` of its end. */
  async stop(): Promise<number> {
    await this.#raw.stop({ t: 20 });
    return await this.#end();
  }

  /** Starts it again after its end. Its ports may be others. */
  async startAgain(): Promise<void> {
    await this.#raw.start();
    await this.#findPorts();
  }

  /** Freezes its process. Resolves with `performance.now()` when that has been done. */
  async pause(): Promise<number> {
    await this.#raw.kill({ signal: "SIGSTOP" });
    return performance.now();
  }

  async resume(): Promise<number> {
    await this.#raw.kill({ signal: "SIGCONT" });
    return performance.now();
  }

  /** The end of its log. */
  async lastLines(): Promise<string> {
    const log = await this.#raw.logs({ stdout: true, stderr: true, tail: linesShown });
    // Each piece of the log begins with eight bytes that are no text.
    return log
      .toString("utf8")
      .split("\n")
      .map((line) => line.slice(Math.max(line.indexOf("{"), 0)))
      .join("\n");
  }

  async remove(): Promise<void> {
    await this.#raw.remove({ force: true, v: true });
  }

  get #raw() {
    return this.#docker.getContainer(this.id);
  }

  async #state() {
    return (await this.#raw.inspect()).State;
  }

  /** The engine is asked for the time: on a busy machine it tells of an end long after. */
  async #end(): Promise<number> {
    await this.#raw.wait();
    const agoMs = Date.now() - Date.parse((await this.#state()).FinishedAt);
    return performance.now() - agoMs;
  }

  async #findPorts(): Promise<void> {
    const { NetworkSettings } = await this.#raw.inspect();
    const ports = Object.entries(NetworkSettings.Ports ?? {});
    this.#ports = new Map(
      ports.flatMap(([port, bindings]) => {
        const host = bindings?.[0]?.HostPort;
        return host === undefined ? [] : [[Number.parseInt(port, 10), Number(host)] as const];
      }),
    );
  }
}
