import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Passes connections on to a server, and can hold back what is said in both directions, as a cut network does: nothing is lost. */
export class HeldProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isHeld = false;

  /** `target` is a URL with host and port. */
  static async to(target: string): Promise<HeldProxy> {
    const { hostname, port } = new URL(target);
    const proxy = new HeldProxy((client) => {
      proxy.#join(client, connect({ host: hostname, port: Number(port) }));
    });
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  private constructor(onClient: (client: Socket) => void) {
    this.#server = createServer(onClient);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From here on nothing passes. Returns `performance.now()`. */
  hold(): number {
    this.#isHeld = true;
    for (const socket of this.#sockets) socket.pause();
    return performance.now();
  }

  /** Lets all of it through that was held back. */
  letThrough(): number {
    this.#isHeld = false;
    for (const socket of this.#sockets) socket.resume();
    return performance.now();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket, server: Socket): void {
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.on("data", (bytes) => to.write(bytes));
      from.on("error", () => undefined);
      from.once("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#isHeld) from.pause();
    }
  }
}
