import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { crc32 } from "node:zlib";
import { VirtualClock } from "@baton/runtime";
import { afterEach, describe, expect, it } from "vitest";
import { TcpKvMover } from "../../src/index.ts";
import { encodeFrame, encodeNumbers, frameKind, maxFrameBytes } from "../../src/tcp/frame.ts";
import { askFor, encodeAsk } from "../../src/tcp/pull-ask.ts";
import { kvMoverContract } from "../kv-mover-contract.ts";
import {
  createDesk,
  handoffCount,
  refusedCount,
  rejectionOf,
  sourceOf,
  stageOn,
  turn,
  turnsUntil,
} from "../support.ts";
import { tcpPair, tcpSide } from "./tcp-pair.ts";

kvMoverContract("TcpKvMover", () => tcpPair());

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

describe("TcpKvMover as a puller", () => {
  it("uses one connection for pulls that follow each other, and closes it when idle", async () => {
    const pair = await pairOf({ idleMs: 5_000 });
    for (const name of ["a", "b", "c"]) {
      const source = sourceOf([100], 5);
      const ticket = stageOn(pair.source, pair.sourceMover.address, source, source.bytes, name);
      await pair.pullerMover.pull({ ticket, parts: [0, "tail"], onPart: () => {} }).done;
    }
    expect(pair.pullerMover.connections).toBe(1);

    await pair.clock.advanceBy(5_500);
    await turnsUntil(() => pair.pullerMover.connections + pair.sourceMover.connections === 0);
    await pair.clock.advanceBy(1_000);

    expect(pair.clock.pendingTimers).toBe(1); // the ledger's lease timer, which covers nothing any more
  });

  it("starts anew when a kept connection turns out to be dead", async () => {
    const clock = new VirtualClock();
    const puller = await tcpSide(clock);
    closers.push(() => puller.mover.close());
    const first = await tcpSide(clock);
    const source = sourceOf([100]);
    const one = stageOn(first.desk, first.mover.address, source, 100, "a");
    await puller.mover.pull({ ticket: one, parts: [0], onPart: () => {} }).done;
    const port = Number(first.mover.address?.split(":")[1]);
    const two = stageOn(first.desk, first.mover.address, source, 100, "b");
    const closing = first.mover.close();
    const pull = puller.mover.pull({ ticket: two, parts: [0], onPart: () => {} });
    await closing;
    const desk = createDesk(clock);
    const again = new TcpKvMover(
      { host: "127.0.0.1", port },
      { clock, counters: desk.counters, desk: desk.ledger },
    );
    closers.push(() => again.close());

    const error = await rejectionOf(pull.done);

    expect(error.code).toBe("kv_transfer_failed");
    expect(error.details.problem).toBe("the source cannot be reached");
  });

  it("gives up on a source that falls silent, within its quiet time", async () => {
    const clock = new VirtualClock();
    const puller = await tcpSide(clock, { quietMs: 2_000 });
    closers.push(() => puller.mover.close());
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    closers.push(() => void silent.close());
    const ticket = stageOn(puller.desk, addressOf(silent), sourceOf([1]), 1);
    const pull = puller.mover.pull({ ticket, parts: [0], onPart: () => {} });
    for (let i = 0; i < 50; i++) await turn();

    await clock.advanceBy(2_500);

    expect((await rejectionOf(pull.done)).details.problem).toBe("the source fell silent");
    await turnsUntil(() => puller.mover.connections === 0);
  });

  it("gives up on a source that trickles, within its total time", async () => {
    const clock = new VirtualClock();
    const puller = await tcpSide(clock, { quietMs: 2_000, totalMs: 10_000 });
    closers.push(() => puller.mover.close());
    const sockets: Socket[] = [];
    const trickling = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => trickling.listen(0, "127.0.0.1", resolve));
    closers.push(() => void trickling.close());
    const ticket = stageOn(puller.desk, addressOf(trickling), sourceOf([1]), 1_000);
    const pull = puller.mover.pull({ ticket, parts: [0], onPart: () => {} });
    let outcome: unknown;
    pull.done.catch((error: unknown) => {
      outcome = error;
    });
    await turnsUntil(() => sockets.length === 1);
    sockets[0]?.write(encodeNumbers(frameKind.part, 0, 1_000));
    for (let second = 0; second < 11 && outcome === undefined; second++) {
      sockets[0]?.write(encodeFrame(frameKind.chunk, Uint8Array.of(1)));
      for (let i = 0; i < 20; i++) await turn();
      await clock.advanceBy(1_000);
    }

    expect(outcome).toMatchObject({ code: "kv_transfer_failed" });
  });

  it.each([
    [
      "a wrong checksum",
      [
        encodeNumbers(frameKind.part, 0, 3),
        encodeFrame(frameKind.chunk, Uint8Array.of(1, 2, 3)),
        encodeNumbers(frameKind.sum, crc32(Uint8Array.of(1, 2, 4))),
      ],
      1,
    ],
    ["a part that was not asked for", [encodeNumbers(frameKind.part, 1, 3)], 0],
    ["more bytes than the ticket says", [encodeNumbers(frameKind.part, 0, 4)], 0],
    ["a chunk without a part", [encodeFrame(frameKind.chunk, Uint8Array.of(1))], 0],
    [
      "a chunk over its part",
      [encodeNumbers(frameKind.part, 0, 1), encodeFrame(frameKind.chunk, Uint8Array.of(1, 2))],
      0,
    ],
    ["an end before all parts", [encodeFrame(frameKind.done, new Uint8Array(0))], 0],
    ["an unknown frame", [encodeFrame(99, new Uint8Array(0))], 0],
    ["an error that cannot be read", [encodeFrame(frameKind.failed, Uint8Array.of(0xc1))], 0],
    ["a frame that is too large", [Buffer.from([0xff, 0xff, 0xff, 0x7f, 4])], 0],
  ])("refuses %s", async (_what, frames, checksums) => {
    const clock = new VirtualClock();
    const puller = await tcpSide(clock);
    closers.push(() => puller.mover.close());
    const bad = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.write(Buffer.concat(frames)));
    });
    await new Promise<void>((resolve) => bad.listen(0, "127.0.0.1", resolve));
    closers.push(() => void bad.close());
    const ticket = stageOn(puller.desk, addressOf(bad), sourceOf([3]), 3);
    let taken = 0;
    const pull = puller.mover.pull({ ticket, parts: [0], onPart: () => void taken++ });

    const error = await rejectionOf(pull.done);

    expect(["kv_transfer_failed", "malformed_message"]).toContain(error.code);
    expect(taken).toBe(0);
    expect(refusedCount(puller.desk, "checksum")).toBe(checksums);
    await turnsUntil(() => puller.mover.connections === 0);
  });

  it.each(["nowhere", "127.0.0.1:0", "127.0.0.1:99999", ""])(
    "refuses the address %j",
    async (address) => {
      const puller = await tcpSide(new VirtualClock());
      closers.push(() => puller.mover.close());
      const ticket = stageOn(puller.desk, address, sourceOf([3]), 3);

      const pull = puller.mover.pull({ ticket, parts: [0], onPart: () => {} });

      expect((await rejectionOf(pull.done)).code).toBe("handoff_refused");
    },
  );

  it("refuses a ticket of another transport", async () => {
    const puller = await tcpSide(new VirtualClock());
    closers.push(() => puller.mover.close());
    const ticket = stageOn(puller.desk, "127.0.0.1:1", sourceOf([3]), 3);

    const pull = puller.mover.pull({
      ticket: { ...ticket, transport: "engine" },
      parts: [],
      onPart: () => {},
    });

    expect((await rejectionOf(pull.done)).details.reason).toBe("transport");
  });
});

describe("TcpKvMover as a source", () => {
  it("says which address it cannot listen on", async () => {
    const clock = new VirtualClock();
    const first = await tcpSide(clock);
    closers.push(() => first.mover.close());
    const desk = createDesk(clock);
    const second = new TcpKvMover(
      { host: "127.0.0.1", port: Number(first.mover.address?.split(":")[1]) },
      { clock, counters: desk.counters, desk: desk.ledger },
    );
    closers.push(() => second.close());

    expect((await rejectionOf(second.listen())).code).toBe("config_invalid");
  });

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

  it("does not take a chunk for larger than a frame may be", () => {
    expect(maxFrameBytes).toBe(1_048_576);
  });
});

function addressOf(server: { address(): unknown }): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
