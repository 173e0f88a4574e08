import type { Socket } from "node:net";
import { ServingError } from "@baton/protocol";
import { connect, type NatsConnection } from "nats";
import { expect, it } from "vitest";
import type { LinkListener } from "../../src/bus/link.ts";
import { connectNats } from "../../src/bus/nats-bus.ts";
import { NatsLink } from "../../src/bus/nats-link.ts";
import { type NatsServerOptions, startNatsServer } from "../../src/nats-server.ts";
import { clock, options, until } from "./nats-rig.ts";
import { natsSuite } from "./nats-suite.ts";

async function withServer(
  serverOptions: NatsServerOptions,
  run: (server: Awaited<ReturnType<typeof startNatsServer>>) => Promise<void>,
): Promise<void> {
  const server = await startNatsServer(serverOptions);
  try {
    await run(server);
  } finally {
    await server.stop();
  }
}

const silentListener: LinkListener = {
  onConnected: () => undefined,
  onDisconnected: () => undefined,
  onClosed: () => undefined,
  onSlowConsumer: () => undefined,
  onMalformed: () => undefined,
};

/** How often the socket's handle was given something to write. */
function writesOf(socket: Socket): number {
  const counts = writeCounts.get(socket);
  if (counts !== undefined) return counts.calls;
  const counted = { calls: 0 };
  writeCounts.set(socket, counted);
  const inner = socket as unknown as {
    _writev: (...of: unknown[]) => void;
    _write: (...of: unknown[]) => void;
  };
  for (const name of ["_writev", "_write"] as const) {
    const write = inner[name].bind(socket);
    inner[name] = (...given) => {
      counted.calls += 1;
      write(...given);
    };
  }
  return 0;
}
const writeCounts = new WeakMap<Socket, { calls: number }>();

/** A socket that is not read, as of a process whose event loop stands still. */
function socketOf(connection: NatsConnection): { pause(): void; resume(): void } {
  const inside = connection as unknown as {
    readonly protocol: {
      readonly transport: { readonly socket: { pause(): void; resume(): void } };
    };
  };
  return inside.protocol.transport.socket;
}

natsSuite("nats connection", () => {
  it("sends all that is published in one turn of the loop in one write, in order", async () => {
    await withServer({}, async (server) => {
      const connection = await connect({ servers: server.url });
      const link = new NatsLink(connection, silentListener, options);
      const heard: string[] = [];
      link.subscribe("a", null, ({ payload }) => void heard.push(Buffer.from(payload).toString()));
      await link.flush();
      const socket = socketOf(connection) as unknown as Socket;
      const writesBefore = writesOf(socket);
      const bytesBefore = socket.bytesWritten;
      for (let turn = 0; turn < 3; turn += 1) {
        for (let n = 0; n < 10; n += 1) {
          link.send("a", Buffer.from(`${turn}.${n}`), "", null);
          await Promise.resolve();
        }
        await clock.yield();
      }
      await until(() => heard.length === 30);

      expect(heard).toEqual([...Array(30)].map((_, i) => `${Math.floor(i / 10)}.${i % 10}`));
      expect(writesOf(socket) - writesBefore).toBe(3);
      expect(socket.bytesWritten).toBeGreaterThan(bytesBefore);
      await connection.close();
    });
  });

  it("counts being cut off for slowness, and is connected again", async () => {
    await withServer(
      { maxPayload: 65_536, maxPending: 65_536, writeDeadlineMs: 50 },
      async (server) => {
        const connection = await connect({
          servers: server.url,
          reconnectTimeWait: 20,
          maxReconnectAttempts: -1,
        });
        const told: string[] = [];
        const link = new NatsLink(
          connection,
          {
            onConnected: () => told.push("connected"),
            onDisconnected: () => told.push("disconnected"),
            onClosed: () => told.push("closed"),
            onSlowConsumer: (lost) => told.push(`slow ${lost}`),
            onMalformed: () => told.push("malformed"),
          },
          options,
        );
        link.subscribe("flood", null, () => undefined);
        await link.flush();
        const floods = await Promise.all(
          Array.from({ length: 30 }, () => connect({ servers: server.url })),
        );

        const socket = socketOf(connection);
        socket.pause();
        for (let round = 0; round < 20; round++) {
          for (const flood of floods) flood.publish("flood", new Uint8Array(65_000));
          await clock.sleep(1);
        }
        await clock.sleep(1_500);
        socket.resume();
        await until(() => told.includes("connected"));
        const before = told.slice();
        await link.close();
        await Promise.all(floods.map((flood) => flood.close()));
        await until(() => told.includes("closed"));

        expect(before).toEqual(["disconnected", "slow null", "connected"]);
      },
    );
  }, 20_000);

  it("does not blame itself when the server was restarted", async () => {
    await withServer({}, async (server) => {
      const connection = await connect({
        servers: server.url,
        reconnectTimeWait: 20,
        maxReconnectAttempts: -1,
      });
      const told: string[] = [];
      const link = new NatsLink(
        connection,
        {
          onConnected: () => told.push("connected"),
          onDisconnected: () => told.push("disconnected"),
          onClosed: () => undefined,
          onSlowConsumer: () => told.push("slow"),
          onMalformed: () => undefined,
        },
        options,
      );

      await server.restart();
      await until(() => told.includes("connected"));
      await link.close();

      expect(told).toEqual(["disconnected", "connected"]);
    });
  });

  it("notices a server that hangs", async () => {
    await withServer({}, async (server) => {
      const bus = await connectNats({ url: server.url }, options);
      const fromMs = clock.nowMs();

      server.pause();
      await until(() => bus.state === "disconnected");
      const afterMs = clock.nowMs() - fromMs;
      server.resume();
      await until(() => bus.state === "connected");
      await bus.close();

      expect(afterMs).toBeLessThan(5_000);
    });
  }, 20_000);

  it("counts parts whose headers make no sense as malformed", async () => {
    await withServer({}, async (server) => {
      const sender = await connect({ servers: server.url });
      const told: string[] = [];
      const { headers } = await import("nats");
      const connection = await connect({ servers: server.url });
      const link = new NatsLink(
        connection,
        {
          onConnected: () => undefined,
          onDisconnected: () => undefined,
          onClosed: () => undefined,
          onSlowConsumer: () => undefined,
          onMalformed: (subject) => told.push(subject),
        },
        options,
      );
      link.subscribe("x", null, () => told.push("delivered"));
      await link.flush();

      const fields = headers();
      fields.set("Baton-Chunk-Id", "a");
      fields.set("Baton-Chunk-Index", "nonsense");
      sender.publish("x", new Uint8Array(1), { headers: fields });
      await until(() => told.length > 0);
      await Promise.all([link.close(), sender.close()]);

      expect(told).toEqual(["x"]);
    });
  });

  it("counts headers that nobody can read as malformed, and keeps its connection", async () => {
    await withServer({}, async (server) => {
      const sender = await connect({ servers: server.url });
      const told: string[] = [];
      const connection = await connect({ servers: server.url });
      const listener = {
        ...silentListener,
        onMalformed: (subject: string) => told.push(subject),
        onDisconnected: () => told.push("disconnected"),
      };
      const link = new NatsLink(connection, listener, options);
      link.subscribe("x", null, ({ payload }) => told.push(Buffer.from(payload).toString()));
      await link.flush();

      const raw = socketOf(sender) as unknown as Socket;
      for (const name of ["a b", "a\u007f", "\u00fc", ""]) {
        const head = Buffer.from(`NATS/1.0\r\n${name}: 1\r\n\r\n`);
        raw.write(`HPUB x ${head.length} ${head.length}\r\n${head}\r\n`);
      }
      await sender.flush();
      sender.publish("x", Buffer.from("last"));
      await until(() => told.includes("last") || told.includes("disconnected"));
      await Promise.all([link.close(), sender.close()]);

      expect(told).not.toContain("disconnected");
      expect(told).toContain("x");
      expect(told.at(-1)).toBe("last");
    });
  });

  it("sends nothing to or for a subject that the server would not take for one word", async () => {
    await withServer({}, async (server) => {
      const connection = await connect({ servers: server.url });
      const link = new NatsLink(connection, silentListener, options);
      const heard: string[] = [];
      link.subscribe(">", null, ({ subject }) => void heard.push(subject));

      for (const words of [
        "a b",
        "a\tb",
        "a\n",
        "a".repeat(5_000),
        "a 0\r\n\r\nPUB b 0\r\n\r\nPUB c",
      ]) {
        for (const [subject, reply] of [
          [words, ""],
          ["a", words],
        ] as const) {
          const send = () => link.send(subject, new Uint8Array(0), reply, null);
          expect(send).toThrow(expect.objectContaining({ code: "malformed_message" }));
        }
      }
      link.send("last", new Uint8Array(0), "", null);
      await until(() => heard.length > 0);
      await link.close();

      expect(heard).toEqual(["last"]);
    });
  });

  it("waits for a server that comes later, and gives up when told", async () => {
    await withServer({}, async (server) => {
      await server.kill();
      const late = connectNats({ url: server.url }, options);
      const abort = new AbortController();
      const given = connectNats({ url: server.url }, options, abort.signal);
      abort.abort();
      await expect(given).rejects.toMatchObject({ code: "bus_unavailable" });

      await server.restart();
      const bus = await late;

      expect(bus.state).toBe("connected");
      await bus.close();
    });
  });

  it("logs in with what the URL or the credentials say, and is refused otherwise", async () => {
    const user = { name: "baton", password: "p@ss" };
    await withServer({ user }, async (server) => {
      const url = server.url.replace("//", "//baton:p%40ss@");
      const bus = await connectNats({ url }, options);
      expect(bus.state).toBe("connected");
      await bus.close();

      const refused = await connectNats({ url: server.url }, options).catch((error) => error);
      expect(refused).toBeInstanceOf(ServingError);
      expect(refused).toMatchObject({ code: "bus_unavailable" });
      expect(refused.message).toContain("refuses the credentials");
    });
  });

  it("refuses a URL that is none, without showing its password", async () => {
    for (const url of ["http://h:1", "nats://", "tls://u:secret@"]) {
      const error = await connectNats({ url }, options).catch((caught) => caught);
      expect(error).toMatchObject({ code: "config_invalid" });
      expect(String(error.message)).not.toContain("secret");
    }
  });
});
