import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { PartId } from "../../src/kv-mover.ts";
import { encodeFrame, FrameReader, frameKind } from "../../src/tcp/frame.ts";
import { askFor, encodeAsk } from "../../src/tcp/pull-ask.ts";
import { handoffCount, refusedCount, sourceOf, stageOn, turn, turnsUntil } from "../support.ts";
import { tcpPair } from "./tcp-pair.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function pairOf(...args: Parameters<typeof tcpPair>) {
  const pair = await tcpPair(...args);
  closers.push(() => pair.close());
  return pair;
}

async function rawTo(address: string | null): Promise<Socket> {
  const [host, port] = (address ?? "").split(":");
  const socket = connect({ host: host ?? "", port: Number(port) });
  socket.on("error", () => {});
  closers.push(() => void socket.destroy());
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

describe("a source's connection", () => {
  it("closes on a peer that says nothing, and on one whose request trickles in", async () => {
    const pair = await pairOf({ quietMs: 2_000 });
    await rawTo(pair.sourceMover.address);
    const trickling = await rawTo(pair.sourceMover.address);
    await turnsUntil(() => pair.sourceMover.connections === 2);
    for (let i = 0; i < 5; i++) {
      trickling.write(Uint8Array.of(1));
      for (let turns = 0; turns < 20; turns++) await turn();
      await pair.clock.advanceBy(500);
    }

    await turnsUntil(() => pair.sourceMover.connections === 0);
  });

  it("frees the KV of a puller that stops reading, within its quiet time", async () => {
    const pair = await pairOf({ quietMs: 2_000 });
    const source = sourceOf([30_000_000]);
    const ticket = stageOn(pair.source, pair.sourceMover.address, source, source.bytes);
    const raw = await rawTo(pair.sourceMover.address);
    raw.pause();
    raw.write(encodeAsk(askFor(ticket.handoffId, ticket.secret as Uint8Array, [0])));
    for (let i = 0; i < 200; i++) await turn();
    expect(pair.source.ledger.held).toBe(1);

    await pair.clock.advanceBy(2_500);
    await turnsUntil(() => pair.source.ledger.held === 0);

    expect(pair.source.freed).toEqual([["r1", "released"]]);
    expect(refusedCount(pair.source, "cut")).toBe(1);
  });

  it("frees the KV of a puller that is cut before its last word", async () => {
    const pair = await pairOf();
    const source = sourceOf([100]);
    const ticket = stageOn(pair.source, pair.sourceMover.address, source, source.bytes);
    const raw = await rawTo(pair.sourceMover.address);
    raw.write(encodeAsk(askFor(ticket.handoffId, ticket.secret as Uint8Array, [0])));
    await new Promise((resolve) => raw.once("data", resolve));
    raw.destroy();
    await turnsUntil(() => pair.source.ledger.held === 0);

    expect(handoffCount(pair.source, "released")).toBe(1);
    expect(refusedCount(pair.source, "cut")).toBe(1);
  });

  it("says nothing more of a KV that is freed after its last part: the puller may be at its next pull", async () => {
    const pair = await pairOf();
    const source = sourceOf([100]);
    const ticket = stageOn(pair.source, pair.sourceMover.address, source, source.bytes);
    const raw = await rawTo(pair.sourceMover.address);
    const kinds: number[] = [];
    const reader = new FrameReader((kind) => kinds.push(kind));
    raw.on("data", (data: Buffer) => reader.push(data));
    raw.write(encodeAsk(askFor(ticket.handoffId, ticket.secret as Uint8Array, [0])));
    await turnsUntil(() => kinds.includes(frameKind.done));

    pair.source.ledger.release(ticket.handoffId);
    await new Promise((resolve) => raw.once("end", resolve));

    expect(kinds).toEqual([frameKind.part, frameKind.chunk, frameKind.sum, frameKind.done]);
  });

  it("sends the parts that it has while it reads the next ones slowly", async () => {
    const pair = await pairOf({ quietMs: 2_000 });
    const quick = sourceOf([10, 10, 10, 10]);
    const reads: (() => void)[] = [];
    const slow = {
      ...quick,
      read: async (part: PartId) => {
        await new Promise<void>((resolve) => reads.push(resolve));
        return quick.read(part);
      },
    };
    const ticket = stageOn(pair.source, pair.sourceMover.address, slow, quick.bytes);
    let parts = 0;
    const pull = pair.pullerMover.pull({ ticket, parts: [0, 1, 2, 3], onPart: () => void parts++ });

    for (let part = 0; part < 4; part += 1) {
      await turnsUntil(() => reads.length > part);
      await pair.clock.advanceBy(1_500);
      reads[part]?.();
      if (part < 3) await turnsUntil(() => parts === part + 1);
    }
    await pull.done;

    expect(parts).toBe(4);
  });

  it("survives garbage, and keeps what it has staged", async () => {
    const pair = await pairOf();
    const source = sourceOf([100]);
    const ticket = stageOn(pair.source, pair.sourceMover.address, source, source.bytes);
    const ask = encodeAsk(askFor(ticket.handoffId, ticket.secret as Uint8Array, [0]));
    const badVersion = Buffer.from(ask);
    badVersion[6] = 9;
    const attacks = [
      Buffer.from("GET / HTTP/1.1\r\n\r\n"),
      Buffer.from([0, 0, 0, 0, frameKind.finish]),
      Buffer.from([0, 0, 0, 0, frameKind.pull]),
      encodeFrame(frameKind.pull, Uint8Array.of(0xc1)),
      encodeFrame(frameKind.done, new Uint8Array(0)),
      Buffer.from([0, 0, 0x11, 0, 1]),
      badVersion,
      ask.subarray(0, ask.length - 1),
    ];
    for (const attack of attacks) {
      const raw = await rawTo(pair.sourceMover.address);
      raw.end(attack);
      await new Promise((resolve) => {
        raw.once("close", resolve);
        raw.resume();
      });
    }
    await turnsUntil(() => pair.sourceMover.connections === 0);

    expect(pair.source.ledger.held).toBe(1);
    await pair.pullerMover.pull({ ticket, parts: [0], onPart: () => {} }).done;
  });

  it("takes no more connections than it may", async () => {
    const pair = await pairOf({ maxServed: 2 });
    for (let i = 0; i < 4; i++) await rawTo(pair.sourceMover.address);
    for (let i = 0; i < 100; i++) await turn();

    expect(pair.sourceMover.connections).toBeLessThanOrEqual(2);
  });
});
