import { actorId, namespaceName, Subjects } from "@baton/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BusOptions } from "../../src/bus/base-bus.ts";
import type { Bus } from "../../src/bus/bus.ts";
import type { Clock } from "../../src/clock.ts";
import { silentLogger } from "../../src/logger.ts";
import { createMetricsRegistry } from "../../src/metrics-registry.ts";

/** A transport under test. */
export interface BusWorld {
  /** Time for waits; a virtual one is advanced by `until`. */
  readonly clock: Clock;
  readonly maxPayloadBytes: number;
  connect(options: BusOptions): Promise<Bus>;
  /** Lets time pass until the condition holds; throws if it does not in some seconds. */
  until(condition: () => boolean): Promise<void>;
  /** Lets everything that is under way arrive. */
  settle(): Promise<void>;
  stopServer(): Promise<void>;
  startServer(maxPayloadBytes?: number): Promise<void>;
  end(): Promise<void>;
}

const subjects = new Subjects(namespaceName("contract"));
const text = (payload: Uint8Array) => Buffer.from(payload).toString();
const bytes = (content: string) => new Uint8Array(Buffer.from(content));
const filled = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 31) % 251);

/** What holds for every bus. */
export function busContract(name: string, makeWorld: () => Promise<BusWorld>): void {
  describe(name, () => {
    let world: BusWorld;
    let registry = createMetricsRegistry();
    const open: Bus[] = [];

    const join = async (id: string, options: Partial<BusOptions> = {}) => {
      const bus = await world.connect({
        id: actorId(id),
        subjects,
        clock: world.clock,
        log: silentLogger(),
        metrics: registry.forActor("test", id),
        ...options,
      });
      open.push(bus);
      return bus;
    };
    const figure = async (metric: string, id: string, more = "") => {
      const page = await registry.text();
      const line = page
        .split("\n")
        .find((row) => row.startsWith(`${metric}{actor="test",id="${id}"${more}`));
      return line === undefined ? null : Number(line.slice(line.lastIndexOf(" ") + 1));
    };

    beforeEach(async () => {
      registry = createMetricsRegistry();
      world = await makeWorld();
    });
    afterEach(async () => {
      await Promise.all(open.splice(0).map((bus) => bus.close()));
      await world.end();
    });

    it("delivers to every subscriber in the order of publishing, the publisher included", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const heard: Record<string, string[]> = { a: [], b: [] };
      a.subscribe("news.x", (message) => heard.a?.push(text(message.payload)));
      b.subscribe("news.x", (message) => heard.b?.push(text(message.payload)));
      await Promise.all([a.flush(), b.flush()]);

      for (let index = 0; index < 50; index++) a.publish("news.x", bytes(String(index)));
      await world.until(() => heard.a?.length === 50 && heard.b?.length === 50);

      const inOrder = Array.from({ length: 50 }, (_, index) => String(index));
      expect(heard).toEqual({ a: inOrder, b: inOrder });
    });

    it("matches wildcards as NATS does", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const heard: string[] = [];
      for (const pattern of ["s.*.c", "s.>", "s.a.c", "*.a.*"]) {
        b.subscribe(pattern, (message) => heard.push(`${pattern} ${message.subject}`));
      }
      await b.flush();

      for (const subject of ["s.a.c", "s.a", "s.a.c.d", "t.a.c"]) a.publish(subject, bytes(""));
      await world.until(() => heard.length >= 7);
      await world.settle();

      expect(heard.sort()).toEqual([
        "*.a.* s.a.c",
        "*.a.* t.a.c",
        "s.*.c s.a.c",
        "s.> s.a",
        "s.> s.a.c",
        "s.> s.a.c.d",
        "s.a.c s.a.c",
      ]);
    });

    it("gives each message to one member of a queue group, and each member gets some", async () => {
      const [a, b, c] = [await join("a"), await join("b"), await join("c")];
      const heard: string[] = [];
      b.subscribe("work", () => heard.push("b"), { queue: "q" });
      c.subscribe("work", () => heard.push("c"), { queue: "q" });
      await Promise.all([b.flush(), c.flush()]);

      for (let index = 0; index < 100; index++) a.publish("work", bytes("x"));
      await world.until(() => heard.length >= 100);
      await world.settle();

      expect(heard.length).toBe(100);
      expect(new Set(heard)).toEqual(new Set(["b", "c"]));
    });

    it("answers a request and waits for nothing afterwards", async () => {
      const [a, b] = [await join("a"), await join("b")];
      b.subscribe("echo", (message) => message.respond(bytes(`${text(message.payload)}!`)));
      await b.flush();

      const answers = [1, 2, 3].map((n) =>
        a.request("echo", bytes(String(n)), { timeoutMs: 2_000 }),
      );
      expect(await figure("baton_bus_replies_awaited", "a")).toBe(3);
      let done = false;
      const all = Promise.all(answers).finally(() => {
        done = true;
      });
      await world.until(() => done);

      expect((await all).map(text)).toEqual(["1!", "2!", "3!"]);
      expect(await figure("baton_bus_replies_awaited", "a")).toBe(0);
    });

    it("rejects a request that nobody listens for at once", async () => {
      const a = await join("a");

      const failure = a.request("nobody", bytes("x"), { timeoutMs: 60_000 }).catch((e) => e);
      let error: unknown;
      void failure.then((e) => {
        error = e;
      });
      await world.until(() => error !== undefined);

      expect(error).toMatchObject({ code: "no_responders", details: { subject: "nobody" } });
      expect(await figure("baton_bus_replies_awaited", "a")).toBe(0);
    });

    it("rejects a request without an answer when its time is over, and drops the late answer", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const asked: (() => void)[] = [];
      b.subscribe("slow", (message) => asked.push(() => message.respond(bytes("late"))));
      await b.flush();

      let error: unknown;
      void a.request("slow", bytes("x"), { timeoutMs: 60 }).catch((e) => {
        error = e;
      });
      await world.until(() => error !== undefined);
      asked[0]?.();
      await world.settle();

      expect(error).toMatchObject({ code: "deadline_exceeded" });
      expect(await figure("baton_bus_replies_awaited", "a")).toBe(0);
      expect(await figure("baton_bus_dropped_total", "a", ',reason="late_reply"')).toBe(1);
    });

    it("hands every answer to requestMany until it is ended", async () => {
      const [a, b, c] = [await join("a"), await join("b"), await join("c")];
      b.subscribe("ping", (message) => message.respond(bytes("b")));
      c.subscribe("ping", (message) => message.respond(bytes("c")));
      await Promise.all([b.flush(), c.flush()]);
      const heard: string[] = [];

      const many = a.requestMany("ping", bytes(""), (payload) => heard.push(text(payload)));
      await world.until(() => heard.length === 2);
      many.unsubscribe();
      a.requestMany("nobody", bytes(""), () => heard.push("never")).unsubscribe();
      await world.settle();

      expect(heard.sort()).toEqual(["b", "c"]);
      expect(await figure("baton_bus_replies_awaited", "a")).toBe(0);
    });

    it("brings back the bounce key of what nobody listens for, and of nothing else", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const bounced: string[] = [];
      a.onUndeliverable((key) => bounced.push(key));
      const heard: string[] = [];
      const subscription = b.subscribe("there", (message) => {
        heard.push(text(message.payload));
        message.respond(bytes("not a bounce"));
      });
      await b.flush();

      a.publish("there", bytes("1"), { bounceKey: "k-1" });
      a.publish("nobody", bytes("2"), { bounceKey: "k-2" });
      a.publish("nobody", bytes("3"));
      await world.until(() => bounced.length === 1 && heard.length === 1);
      subscription.unsubscribe();
      await b.flush();
      a.publish("there", bytes("4"), { bounceKey: "k-4" });
      await world.until(() => bounced.length === 2);
      await world.settle();

      expect(bounced).toEqual(["k-2", "k-4"]);
      expect(await figure("baton_bus_bounced_total", "a")).toBe(2);
    });

    it("splits and joins what is larger than the server takes, in order with the rest", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const heard: Uint8Array[] = [];
      b.subscribe("big", (message) => heard.push(message.payload));
      await b.flush();
      const sizes = [
        10,
        world.maxPayloadBytes,
        world.maxPayloadBytes + 1,
        3 * world.maxPayloadBytes,
        5,
      ];

      for (const size of sizes) a.publish("big", filled(size));
      await world.until(() => heard.length === sizes.length);

      expect(heard.map((payload) => payload.length)).toEqual(sizes);
      for (const payload of heard) expect(Buffer.compare(payload, filled(payload.length))).toBe(0);
    });

    it("splits and joins large requests, large answers, and work for a queue group", async () => {
      const [a, b, c] = [await join("a"), await join("b"), await join("c")];
      for (const bus of [b, c]) {
        bus.subscribe("big", (message) => message.respond(message.payload.slice().reverse()), {
          queue: "q",
        });
      }
      await Promise.all([b.flush(), c.flush()]);
      const payload = filled(4 * world.maxPayloadBytes + 7);

      const answers: Uint8Array[] = [];
      for (let index = 0; index < 6; index++) {
        void a.request("big", payload, { timeoutMs: 5_000 }).then((answer) => answers.push(answer));
      }
      await world.until(() => answers.length === 6);

      for (const answer of answers) {
        expect(Buffer.compare(answer, payload.slice().reverse())).toBe(0);
      }
    });

    it("bounces a large message once", async () => {
      const a = await join("a");
      const bounced: string[] = [];
      a.onUndeliverable((key) => bounced.push(key));

      a.publish("nobody", filled(3 * world.maxPayloadBytes), { bounceKey: "k" });
      await world.until(() => bounced.length > 0);
      await world.settle();

      expect(bounced).toEqual(["k"]);
    });

    it("refuses what is over its own limit before anything is sent", async () => {
      const a = await join("a", { maxMessageBytes: 1_000 });
      const heard: string[] = [];
      a.subscribe("big", () => heard.push("big"));

      expect(() => a.publish("big", filled(1_001))).toThrow(
        expect.objectContaining({
          code: "payload_too_large",
          details: { bytes: 1_001, maxBytes: 1_000 },
        }),
      );
      await expect(a.request("big", filled(1_001), { timeoutMs: 100 })).rejects.toMatchObject({
        code: "payload_too_large",
      });
      await world.settle();
      expect(heard).toEqual([]);
      expect(await figure("baton_bus_replies_awaited", "a")).toBe(0);
    });

    it("goes on when a handler throws, and counts it", async () => {
      const a = await join("a");
      const heard: string[] = [];
      a.subscribe("x", (message) => {
        heard.push(text(message.payload));
        if (heard.length === 1) throw new Error("first");
      });
      await a.flush();

      a.publish("x", bytes("1"));
      a.publish("x", bytes("2"));
      await world.until(() => heard.length === 2);

      expect(await figure("baton_bus_handler_errors_total", "a")).toBe(1);
    });

    it("gives handlers bytes that stay as they were and are a plain Uint8Array", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const held: Uint8Array[] = [];
      b.subscribe("x", (message) => held.push(message.payload));
      await b.flush();

      for (let index = 0; index < 200; index++) a.publish("x", new Uint8Array(100).fill(index));
      await world.until(() => held.length === 200);

      expect(held.every((payload, index) => payload.every((byte) => byte === index % 256))).toBe(
        true,
      );
      expect(held.every((payload) => Object.getPrototypeOf(payload) === Uint8Array.prototype)).toBe(
        true,
      );
    });

    it("hears nothing after unsubscribe", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const heard: string[] = [];
      const subscription = b.subscribe("x", (message) => heard.push(text(message.payload)));
      await b.flush();
      a.publish("x", bytes("1"));
      await world.until(() => heard.length === 1);

      subscription.unsubscribe();
      subscription.unsubscribe();
      await b.flush();
      a.publish("x", bytes("2"));
      await world.settle();

      expect(heard).toEqual(["1"]);
    });

    it("refuses to publish while the server is gone, sends nothing late, and serves again after it", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const states: string[] = [];
      const heard: string[] = [];
      a.onState((state) => states.push(state));
      b.subscribe("x", (message) => heard.push(text(message.payload)));
      b.subscribe("silent", () => undefined);
      await b.flush();
      let failed: unknown;
      void a.request("silent", bytes(""), { timeoutMs: 60_000 }).catch((error) => {
        failed = error;
      });

      await world.stopServer();
      await world.until(() => a.state === "disconnected" && b.state === "disconnected");
      expect(() => a.publish("x", bytes("lost"))).toThrow(
        expect.objectContaining({ code: "bus_unavailable" }),
      );
      await expect(a.flush()).rejects.toMatchObject({ code: "bus_unavailable" });
      b.subscribe("y", (message) => heard.push(`y${text(message.payload)}`));
      await world.until(() => failed !== undefined);
      await world.startServer();
      await world.until(() => a.state === "connected" && b.state === "connected");
      await Promise.all([a.flush(), b.flush()]);
      a.publish("x", bytes("after"));
      a.publish("y", bytes("after"));
      await world.until(() => heard.length >= 2);
      await world.settle();

      expect(failed).toMatchObject({ code: "bus_unavailable" });
      expect(heard).toEqual(["after", "yafter"]);
      expect(states).toEqual(["disconnected", "connected"]);
      expect(await figure("baton_bus_replies_awaited", "a")).toBe(0);
    });

    it("reads the server's limit again after a reconnect", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const heard: number[] = [];
      b.subscribe("x", (message) => heard.push(message.payload.length));
      await b.flush();

      await world.stopServer();
      await world.until(() => a.state === "disconnected" && b.state === "disconnected");
      await world.startServer(2_048);
      await world.until(() => a.state === "connected" && b.state === "connected");
      await Promise.all([a.flush(), b.flush()]);
      a.publish("x", filled(10_000));
      await world.until(() => heard.length === 1);

      expect(heard).toEqual([10_000]);
    });

    it("drains: handles what is under way, ends its requests, then is closed", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const heard: string[] = [];
      b.subscribe("x", (message) => heard.push(text(message.payload)));
      b.subscribe("echo", (message) => message.respond(bytes("echo")));
      await b.flush();
      for (let index = 0; index < 20; index++) a.publish("x", bytes(String(index)));
      await a.flush();
      let answer = "";
      void a.request("echo", bytes(""), { timeoutMs: 1_000 }).then((payload) => {
        answer = text(payload);
      });

      let drained = 0;
      void a.drain().then(() => drained++);
      await world.until(() => drained === 1);
      void b.drain().then(() => drained++);
      await world.until(() => drained === 2);

      expect(heard.length).toBe(20);
      expect(answer).toBe("echo");
      expect([a.state, b.state]).toEqual(["closed", "closed"]);
      expect(() => a.publish("x", bytes(""))).toThrow(
        expect.objectContaining({ code: "bus_unavailable" }),
      );
    });

    it("drains and closes in bounded time when the server is gone or goes meanwhile", async () => {
      const [a, b] = [await join("a"), await join("b")];
      for (const bus of [a, b]) bus.subscribe("x", () => undefined);
      let drained = 0;

      void a.drain().then(() => drained++);
      await world.stopServer();
      void b.drain().then(() => drained++);
      await world.until(() => drained === 2);

      expect([a.state, b.state]).toEqual(["closed", "closed"]);
      await world.startServer();
    });

    it("rejects open requests when it is closed", async () => {
      const [a, b] = [await join("a"), await join("b")];
      b.subscribe("silent", () => undefined);
      await b.flush();
      let failed: unknown;
      void a.request("silent", bytes(""), { timeoutMs: 60_000 }).catch((error) => {
        failed = error;
      });

      await a.close();
      await world.until(() => failed !== undefined);

      expect(failed).toMatchObject({ code: "bus_unavailable" });
      expect(await figure("baton_bus_replies_awaited", "a")).toBe(0);
    });

    it("counts what it sends and receives", async () => {
      const [a, b] = [await join("a"), await join("b")];
      const heard: string[] = [];
      b.subscribe("x", (message) => heard.push(text(message.payload)));
      await b.flush();

      a.publish("x", filled(100));
      a.publish("x", filled(100));
      await world.until(() => heard.length === 2);

      expect(await figure("baton_bus_messages_out_total", "a")).toBe(2);
      expect(await figure("baton_bus_sent_bytes_total", "a")).toBe(200);
      expect(await figure("baton_bus_messages_in_total", "b")).toBe(2);
      expect(await figure("baton_bus_received_bytes_total", "b")).toBe(200);
    });
  });
}
