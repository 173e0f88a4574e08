import type { Docker } from "./engine.ts";

/**
 * The private network on which actors and NATS talk. Containers are on Docker's ordinary bridge too, where the test reaches
 * their ports; nobody finds anybody there.
 */
export class BusNetwork {
  readonly name: string;
  readonly #docker: Docker;

  static async make(docker: Docker, name: string): Promise<BusNetwork> {
    await docker.createNetwork({ Name: name, Internal: true, Labels: { "baton.test": name } });
    return new BusNetwork(docker, name);
  }

  private constructor(docker: Docker, name: string) {
    this.#docker = docker;
    this.name = name;
  }

  /** Cuts a container off: its connections fall silent, none is closed. */
  async cut(container: string): Promise<void> {
    await this.#docker.getNetwork(this.name).disconnect({ Container: container });
  }

  /** Takes it back under its name, maybe with another address. */
  async heal(container: string, alias: string): Promise<void> {
    await this.#docker
      .getNetwork(this.name)
      .connect({ Container: container, EndpointConfig: { Aliases: [alias] } });
  }

  /** Removes it, and whatever container is still on it: one that was being made when the suite gave up. */
  async remove(): Promise<void> {
    const filters = { network: [this.name] };
    const left = await this.#docker.listContainers({ all: true, filters });
    await Promise.all(
      left.map(({ Id }) => this.#docker.getContainer(Id).remove({ force: true, v: true })),
    );
    await this.#docker.getNetwork(this.name).remove();
  }
}
