import { type AddressInfo, createServer, type Socket } from "node:net";
import { crc32 } from "node:zlib";
import { VirtualClock } from "@baton/runtime";
import { afterEach, describe, expect, it } from "vitest";
import { encodeFrame, encodeNumbers, frameKind } from "../../src/tcp/frame.ts";
import { refusedCount, rejectionOf, sourceOf, stageOn, turn, turnsUntil } from "../support.ts";
import { tcpSide } from "./tcp-pair.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

describe("a puller's connection", () => {
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

function addressOf(server: { address(): unknown }): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
