import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { VirtualClock } from "@baton/runtime";
import { afterEach, describe, expect, it } from "vitest";
import { Connections } from "../../src/http/connections.ts";
import { HttpServer } from "../../src/http/http-server.ts";
import { chatBody } from "../support/api-rig.ts";
import { answerHello } from "../support/fake-port.ts";
import { chatRequest } from "../support/raw-client.ts";
import { clientOf, rigWith } from "../support/wire-rigs.ts";

const servers: HttpServer[] = [];
const chat = JSON.stringify(chatBody);

afterEach(async () => {
  for (const { server } of servers.splice(0)) server.close();
});

describe("a client that takes its time", () => {
  it("has so long for a request's head", async () => {
    const rig = await rigWith({ headersTimeoutMs: 50 });

    const answers = await clientOf(rig).send("GET /live HTTP/1.1\r\nhost:").toEnd();

    expect(answers.map(({ status }) => status)).toEqual([408]);
    expect(JSON.parse(answers[0]?.body ?? "")).toMatchObject({
      error: { code: "request_timeout", type: "invalid_request_error" },
    });
    expect(rig.counted).toEqual(["request_timeout"]);
  });

  it("has so long for a request's body, however it trickles", async () => {
    const rig = await rigWith({ receiveTimeoutMs: 300 });
    const client = clientOf(rig).send(
      chatRequest("", { "content-length": "1000", "x-request-id": "mine" }),
    );
    const trickle = setInterval(() => client.send("{"), 20);

    const answers = await client.answers(1);
    clearInterval(trickle);

    expect(answers[0]).toMatchObject({ status: 408, headers: { "x-request-id": "mine" } });
    expect(rig.counted).toEqual(["request_timeout"]);
  });

  it("is not answered, nor counted, if it has not said a word", async () => {
    const rig = await rigWith({ headersTimeoutMs: 50 });
    const client = clientOf(rig);

    await client.toEnd();

    expect(client.heard).toBe("");
    expect(rig.counted).toEqual([]);
  });

  it("may be idle so long between two requests", async () => {
    const rig = await rigWith({ keepAliveMs: 20 });
    const client = clientOf(rig).send(chatRequest(chat));

    const answers = await client.toEnd();

    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(rig.counted).toEqual([]);
  });

  it("may wait for a slow answer longer than for anything else", async () => {
    const rig = await rigWith({ headersTimeoutMs: 20, receiveTimeoutMs: 40, keepAliveMs: 20 });
    rig.port.onSubmit = () => undefined;
    const client = clientOf(rig).send(chatRequest(chat));
    await rig.port.until(() => rig.port.sinks.length === 1);
    const other = clientOf(rig).send("GET");
    // By the time that another has been cut this one would have been.
    await other.toEnd();

    const [sink] = rig.port.sinks;
    if (sink !== undefined) answerHello(sink);

    expect((await client.answers(1)).map(({ status }) => status)).toEqual([200]);
  });
});

describe("a connection that goes on for too long", () => {
  /** A server in virtual time, whose requests the test answers. */
  async function inVirtualTime() {
    const clock = new VirtualClock();
    const told: string[] = [];
    const connections = new Connections(10_000, {
      cutOff: () => told.push("cut off"),
      stalled: () => told.push("stalled"),
    });
    const limits = {
      receiveTimeoutMs: 60_000,
      headersTimeoutMs: 60_000,
      keepAliveMs: 60_000,
      maxConnections: 10,
    };
    const responses: ServerResponse[] = [];
    const events = {
      refuse: () => undefined,
      refusalText: () => "HTTP/1.1 400 no\r\ncontent-length: 0\r\n\r\n",
      dropped: () => undefined,
    };
    const http = new HttpServer(limits, { clock, connections }, events, (_request, response) => {
      responses.push(response);
    });
    http.server.listen(0, "127.0.0.1");
    await once(http.server, "listening");
    http.start();
    servers.push(http);
    const { port } = http.server.address() as AddressInfo;
    const client = clientOf({ url: `http://127.0.0.1:${port}` });
    return { clock, told, connections, responses, http, client };
  }

  it("may send on for five seconds after it was refused", async () => {
    const { clock, client, connections } = await inVirtualTime();
    client.send("hello\r\n\r\n");
    await client.answers(1);
    client.send("and more\r\n\r\n");

    await clock.advanceBy(4_500);
    expect(connections.size).toBe(1);
    await clock.advanceBy(1_500);
    await expect.poll(() => connections.size).toBe(0);
  });

  it("is cut when its client takes nothing of an answer", async () => {
    const { clock, client, connections, responses, told } = await inVirtualTime();
    client.socket.pause();
    client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await expect.poll(() => responses.length).toBe(1);
    responses[0]?.end("x".repeat(20_000_000));

    for (let second = 0; second < 30; second += 1) await clock.advanceBy(1_000);
    await expect.poll(() => connections.size).toBe(0);

    expect(told).toEqual(["stalled"]);
  });
});
