import { once } from "node:events";
import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import { connect } from "nats";
import { expect, it } from "vitest";
import type { BusState } from "../../src/bus/bus.ts";
import { connectNats } from "../../src/bus/nats-bus.ts";
import { type NatsServer, startNatsServer } from "../../src/nats-server.ts";
import { clock, options, until } from "./nats-rig.ts";
import { natsSuite } from "./nats-suite.ts";

/** Stands before a server. While it is held whoever connects hears nothing, as from a server that hangs. */
class Gate {
  /** Connections of clients, in order. */
  readonly clients: Socket[] = [];
  readonly #target: number;
  readonly #waiting: (() => void)[] = [];
  #isHeld = false;
  readonly #server = createServer((client) => this.#take(client));

  static async before(server: NatsServer): Promise<Gate> {
    const gate = new Gate(Number(new URL(server.url).port));
    gate.#server.listen(0, "127.0.0.1");
    await once(gate.#server, "listening");
    return gate;
  }

  private constructor(target: number) {
    this.#target = target;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get open(): number {
    return this.clients.filter(({ destroyed }) => !destroyed).length;
  }

  hold(): void {
    this.#isHeld = true;
  }

  letThrough(): void {
    this.#isHeld = false;
    for (const pass of this.#waiting.splice(0)) pass();
  }

  close(): void {
    this.#server.close();
    for (const client of this.clients) client.destroy();
  }

  #take(client: Socket): void {
    this.clients.push(client);
    client.on("error", () => undefined);
    const pass = () => {
      const server = dial(this.#target, "127.0.0.1").on("error", () => undefined);
      client.pipe(server).pipe(client);
      client.once("close", () => server.destroy());
    };
    if (this.#isHeld) this.#waiting.push(pass);
    else pass();
  }
}

natsSuite("the connections of a NATS client", () => {
  it("are one, after a server that hung answers a try to connect that was given up", async () => {
    const server = await startNatsServer();
    const gate = await Gate.before(server);
    const sender = await connect({ servers: server.url });
    const bus = await connectNats({ url: gate.url }, options);
    const states: BusState[] = [];
    bus.onState((state) => states.push(state));
    const heard: string[] = [];
    bus.subscribe("x", ({ subject }) => heard.push(subject));
    await bus.flush();

    gate.hold();
    gate.clients[0]?.destroy();
    // One that is given up, and the next.
    await until(() => gate.clients.length === 3);
    gate.letThrough();
    await until(() => bus.state === "connected");
    await bus.flush();
    // The server ends what never logged in.
    gate.clients[1]?.destroy();
    await clock.sleep(300);
    sender.publish("x");
    await sender.flush();
    await bus.flush();

    expect({ heard, open: gate.open, states }).toEqual({
      heard: ["x"],
      open: 1,
      states: ["disconnected", "connected"],
    });
    await Promise.all([bus.close(), sender.close()]);
    gate.close();
    await server.stop();
  }, 20_000);

  it("end in time when the server hangs, though more is to be sent than the network takes", async () => {
    const server = await startNatsServer();
    const bus = await connectNats({ url: server.url }, options);
    const fromMs = clock.nowMs();

    server.pause();
    for (let sent = 0; sent < 64; sent += 1) bus.publish("x", new Uint8Array(500_000));
    await until(() => bus.state === "disconnected");
    const afterMs = clock.nowMs() - fromMs;
    server.resume();
    await until(() => bus.state === "connected");
    await bus.close();
    await server.stop();

    expect(afterMs).toBeLessThan(5_000);
  }, 20_000);
});
