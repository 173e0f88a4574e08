import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { KvHandoff } from "@baton/protocol";
import { afterEach, describe, expect, it } from "vitest";
import {
  handoffCount,
  refusedCount,
  rejectionOf,
  sourceOf,
  stageOn,
  turnsUntil,
} from "../support.ts";
import { tcpPair } from "./tcp-pair.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** What a wire does with the bytes from the source: passes them on, changed, or ends the connection. */
type Wire = (bytes: Buffer, end: () => void) => Buffer;
const plain: Wire = (bytes) => bytes;

/** A pair with a wire between the two, which keeps what the puller says. */
async function wiredPair(wire: Wire) {
  const pair = await tcpPair();
  closers.push(() => pair.close());
  const port = Number(pair.sourceMover.address?.split(":")[1]);
  const said: Buffer[] = [];
  const sockets: Socket[] = [];
  const server = createServer((puller) => {
    const source = connect({ host: "127.0.0.1", port });
    const end = () => {
      puller.destroy();
      source.destroy();
    };
    sockets.push(puller, source);
    for (const socket of [puller, source]) socket.on("error", () => undefined).on("close", end);
    puller.on("data", (bytes) => {
      said.push(bytes);
      source.write(bytes);
    });
    source.on("data", (bytes) => puller.write(wire(bytes, end)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const source = sourceOf([200_000, 200_000]);
  const ticket = stageOn(pair.source, address, source, source.bytes);
  const taken: number[] = [];
  const pull = (shown: KvHandoff = ticket) =>
    pair.pullerMover.pull({
      ticket: shown,
      parts: [0, 1],
      onPart: (_part, bytes) => {
        taken.push(bytes.length);
      },
    }).done;
  return { pair, ticket, pull, taken, said, port };
}

describe("a pull over a bad wire", () => {
  it("that is cut in the middle fails, is counted as cut, and frees the KV", async () => {
    let passed = 0;
    const { pair, pull, taken } = await wiredPair((bytes, end) => {
      passed += bytes.length;
      if (passed > 250_000) end();
      return bytes;
    });

    const error = await rejectionOf(pull());
    await turnsUntil(() => pair.source.ledger.held === 0);

    expect(error.code).toBe("kv_transfer_failed");
    expect(taken.length).toBeLessThan(2);
    expect(refusedCount(pair.source, "cut")).toBe(1);
    expect(pair.source.freed).toEqual([["r1", "released"]]);
  });

  it("that changes a byte fails, is counted by its checksum, and frees the KV", async () => {
    let passed = 0;
    const { pair, pull, taken } = await wiredPair((bytes) => {
      const at = 100_000 - passed;
      passed += bytes.length;
      if (at < 0 || at >= bytes.length) return bytes;
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      return changed;
    });

    const error = await rejectionOf(pull());
    await turnsUntil(() => pair.source.ledger.held === 0);

    expect(error.code).toBe("kv_transfer_failed");
    expect(taken).toEqual([]);
    expect(refusedCount(pair.puller, "checksum")).toBe(1);
    expect(pair.source.freed).toEqual([["r1", "released"]]);
  });

  it("that is replayed by somebody who has listened gets nothing, and is counted as used", async () => {
    const { pair, pull, taken, said, port } = await wiredPair(plain);
    await pull();
    expect(taken).toEqual([200_000, 200_000]);
    await turnsUntil(() => pair.source.ledger.held === 0);

    const thief = connect({ host: "127.0.0.1", port });
    thief.on("error", () => undefined);
    closers.push(() => void thief.destroy());
    let heard = 0;
    thief.on("data", (bytes) => {
      heard += bytes.length;
    });
    thief.write(Buffer.concat(said));
    await turnsUntil(() => refusedCount(pair.source, "used") === 1);

    expect(heard).toBeLessThan(1_000);
    expect(handoffCount(pair.source, "pulled")).toBe(1);
  });

  it("with a wrong secret gets nothing, is counted, and leaves the KV to who has the right one", async () => {
    const { pair, pull, ticket, taken } = await wiredPair(plain);

    const error = await rejectionOf(pull({ ...ticket, secret: new Uint8Array(16) }));
    expect([error.code, taken.length]).toEqual(["handoff_refused", 0]);
    expect(refusedCount(pair.source, "secret")).toBe(1);
    await pull();
    await turnsUntil(() => pair.source.ledger.held === 0);

    expect(pair.source.freed).toEqual([["r1", "pulled"]]);
  });
});
