import type { ChunkHeader } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { ChunkExchange } from "../../src/bus/chunk-exchange.ts";
import type { Inbound, Link } from "../../src/bus/link.ts";
import { VirtualClock } from "../../src/virtual-clock.ts";

interface Sent {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly reply: string;
  readonly chunk: ChunkHeader | null;
}

function world(maxHeldBytes = 100_000) {
  const clock = new VirtualClock(0);
  const sent: Sent[] = [];
  const link: Link = {
    maxPayloadBytes: 612, // 100 of payload beside the headers
    send: (subject, payload, reply, chunk) => void sent.push({ subject, payload, reply, chunk }),
    subscribe: () => ({ unsubscribe: () => undefined, drain: async () => undefined }),
    flush: async () => undefined,
    close: async () => undefined,
  };
  let dropped = 0;
  const make = (name: string) =>
    new ChunkExchange(
      { maxMessageBytes: 10_000, maxHeldBytes, staleMs: 1_000 },
      {
        clock,
        inbox: `inbox.${name}`,
        idPrefix: name,
        onDropped: (count) => {
          dropped += count;
        },
      },
    );
  return { clock, link, sent, make, dropped: () => dropped };
}

const inbound = (sent: Sent): Inbound => ({ ...sent, noResponders: false });
const filled = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251);

describe("ChunkExchange", () => {
  it("sends parts in order, the reply with the first only, and joins them", () => {
    const { link, sent, make } = world();
    const [a, b] = [make("a"), make("b")];
    const joiner = b.newJoiner();
    const heard: Inbound[] = [];

    a.send(link, "x", filled(250), "inbox.a.1");
    for (const one of sent) {
      if (one.chunk !== null) b.take(joiner, inbound(one), one.chunk, (whole) => heard.push(whole));
    }

    expect(sent.map(({ payload, reply }) => [payload.length, reply])).toEqual([
      [100, "inbox.a.1"],
      [100, ""],
      [50, ""],
    ]);
    expect(heard).toHaveLength(1);
    expect(heard[0]).toMatchObject({ subject: "x", reply: "inbox.a.1", payload: filled(250) });
    expect(b.heldBytes).toBe(0);
  });

  it("lets the member of a group that has the first part ask for the rest", () => {
    const { link, sent, make } = world();
    const [a, b, c] = [make("a"), make("b"), make("c")];
    const heard: string[] = [];

    a.send(link, "work", filled(250), "inbox.a.1");
    for (const [index, one] of sent.splice(0).entries()) {
      const member = index === 0 ? b : c;
      const name = index === 0 ? "b" : "c";
      if (one.chunk === null) continue;
      member.takeInGroup(link, inbound(one), one.chunk, (whole) =>
        heard.push(`${name} ${whole.payload.length} ${whole.reply}`),
      );
    }
    const [ask] = sent.splice(0);
    expect(ask).toMatchObject({ subject: "inbox.a.c.a-1", reply: "inbox.b.p.a-1" });
    a.sendRest(link, "a-1", ask?.reply ?? "");
    for (const one of sent) b.takeAsked(inbound(one));

    expect(heard).toEqual(["b 250 inbox.a.1"]);
    expect(b.heldBytes).toBe(0);
  });

  it("keeps what it sent for some seconds only, and drops what stays unfinished", async () => {
    const { clock, link, sent, make, dropped } = world();
    const [a, b] = [make("a"), make("b")];
    a.send(link, "work", filled(250), "");
    const [first] = sent.splice(0);
    if (first?.chunk == null) return expect.unreachable();
    b.takeInGroup(link, inbound(first), first.chunk, () => expect.unreachable());
    expect([a.heldBytes, b.heldBytes]).toEqual([250, 100]);

    await clock.runUntilIdle();

    expect([a.heldBytes, b.heldBytes, dropped()]).toEqual([0, 0, 1]);
    sent.length = 0;
    a.sendRest(link, "a-1", "inbox.b.p.a-1");
    expect(sent).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("keeps no more than its limit: the oldest goes first", () => {
    const { link, sent, make } = world(600);
    const a = make("a");

    for (let index = 0; index < 4; index++) a.send(link, "x", filled(250), "");
    expect(a.heldBytes).toBe(500);
    sent.length = 0;
    a.sendRest(link, "a-1", "to");
    expect(sent).toEqual([]);
    a.sendRest(link, "a-4", "to");

    expect(sent.map(({ subject }) => subject)).toEqual(["to", "to"]);
  });

  it("lets go of everything when the connection is gone", () => {
    const { clock, link, make } = world();
    const a = make("a");
    a.send(link, "x", filled(250), "");

    a.clear();

    expect([a.heldBytes, clock.pendingTimers]).toEqual([0, 0]);
  });
});
