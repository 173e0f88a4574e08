import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Connections, type Exchange } from "../../src/http/connections.ts";

const servers: Server[] = [];
const sockets: Socket[] = [];

/** A server that keeps an account of its connections, and a client's connection to it. */
class Rig {
  readonly told: string[] = [];
  readonly exchanges: Exchange[] = [];
  readonly connections = new Connections(1_000, {
    cutOff: () => this.told.push("cut off"),
    stalled: () => this.told.push("stalled"),
  });
  readonly server = createServer((request, response) => {
    const exchange = this.connections.begin(request, response, false);
    this.exchanges.push(exchange);
    this.onRequest(exchange);
  });
  onRequest: (exchange: Exchange) => void = () => undefined;

  async client(): Promise<Socket> {
    if (!this.server.listening) {
      servers.push(this.server);
      this.server.listen(0, "127.0.0.1");
      await once(this.server, "listening");
    }
    const socket = connect((this.server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket);
    await once(socket, "connect");
    return socket;
  }

  /** Lets the server see what has happened. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve));
  }
}

const get = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const half = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{";

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

describe("connections", () => {
  it("know what is under way, in order, until it is answered", async () => {
    const rig = new Rig();
    const client = await rig.client();
    client.write(get + get);
    await rig.until(() => rig.exchanges.length === 2);
    const [first, second] = rig.exchanges;
    const requests = [first?.request, second?.request] as IncomingMessage[];

    expect(requests.map((request) => rig.connections.find(request))).toEqual([first, second]);
    expect(first?.connection).toBe(second?.connection);
    first?.response.end("a");
    await rig.until(() => first?.connection.exchanges.length === 1);

    expect(requests.map((request) => rig.connections.find(request))).toEqual([undefined, second]);
  });

  it("are forgotten with their requests when they end", async () => {
    const rig = new Rig();
    const client = await rig.client();
    client.write(get + get);
    await rig.until(() => rig.exchanges.length === 2);

    client.destroy();
    await rig.until(() => rig.connections.size === 0);

    expect(rig.exchanges[0]?.connection.exchanges).toEqual([]);
    expect(rig.told).toEqual([]);
  });

  it("tell of a body that was on its way when they ended, once", async () => {
    const rig = new Rig();
    let stopped = 0;
    rig.onRequest = (exchange) => {
      exchange.arrival = {
        stop: () => {
          stopped += 1;
          exchange.arrival = null;
        },
      };
    };
    const client = await rig.client();
    client.write(half);
    await rig.until(() => rig.exchanges.length === 1);
    expect(rig.exchanges[0]?.connection.arriving).toBe(rig.exchanges[0]);

    client.destroy();
    await rig.until(() => rig.connections.size === 0);

    expect([stopped, rig.told]).toEqual([1, ["cut off"]]);
  });

  it("say their last word when all is answered", async () => {
    const rig = new Rig();
    const client = await rig.client();
    client.write(get + get);
    await rig.until(() => rig.exchanges.length === 2);
    const [first, second] = rig.exchanges;
    const open: number[] = [];
    if (first !== undefined) {
      first.connection.lastWord = () => open.push(first.connection.exchanges.length);
    }

    first?.response.end();
    second?.response.end();
    await rig.until(() => open.length > 0);

    expect(open).toEqual([0]);
  });

  it("are closed when their time has come", async () => {
    const rig = new Rig();
    const client = await rig.client();
    client.write(get);
    await rig.until(() => rig.exchanges.length === 1);
    const connection = rig.exchanges[0]?.connection;
    if (connection !== undefined) connection.closeByMs = 500;

    rig.connections.sweep(499);
    expect(rig.connections.size).toBe(1);
    rig.connections.sweep(500);
    await once(client, "close");

    expect(rig.told).toEqual([]);
  });
});

describe("a client that does not read", () => {
  const large = "x".repeat(20_000_000);

  async function answered(rig: Rig, answer: (response: ServerResponse) => void): Promise<Socket> {
    const client = await rig.client();
    client.pause();
    client.write(get);
    await rig.until(() => rig.exchanges.length === 1);
    const response = rig.exchanges[0]?.response;
    if (response !== undefined) answer(response);
    return client;
  }

  it("is cut once it has taken nothing for so long", async () => {
    const rig = new Rig();
    await answered(rig, (response) => response.end(large));
    const socket = rig.exchanges[0]?.connection.socket;
    let taken = -1;
    // The kernel takes some of it.
    while (taken !== (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0)) {
      taken = (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }

    rig.connections.sweep(10_000);
    rig.connections.sweep(10_999);
    expect(rig.told).toEqual([]);
    rig.connections.sweep(11_000);
    await rig.until(() => rig.connections.size === 0);

    expect(rig.told).toEqual(["stalled"]);
  });

  it("is not cut while it takes a little, or while there is nothing to take", async () => {
    const rig = new Rig();
    const client = await answered(rig, (response) => response.end(large));
    rig.connections.sweep(10_000);

    client.resume();
    const socket = rig.exchanges[0]?.connection.socket;
    await rig.until(() => socket?.writableLength === 0);
    rig.connections.sweep(11_000);
    rig.connections.sweep(90_000);

    expect(rig.told).toEqual([]);
    expect(rig.connections.size).toBe(1);
  });
});
