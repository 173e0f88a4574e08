import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ChunkHeader,
  ChunkJoiner,
  chunkHeaderBytes,
  chunkHeaderNames,
  readChunkHeader,
  splitPayload,
  writeChunkHeader,
} from "../src/chunks.ts";

const limits = { maxMessageBytes: 10_000, maxHeldBytes: 3_000, staleMs: 100 };
const filled = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251);

function cut(id: string, payload: Uint8Array, chunkBytes: number) {
  const parts = splitPayload(payload, chunkBytes);
  return parts.map((part, index) => ({
    part,
    header: { id, index, count: parts.length, totalBytes: payload.length, rest: "r" },
  }));
}

describe("splitPayload and ChunkJoiner", () => {
  it("give back any payload, parts in any order, some twice, messages mixed", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        sizes,
        fc.integer({ min: 1, max: 100 }),
        fc.infiniteStream(fc.nat()),
        (all, chunkBytes, draws) => {
          const joiner = new ChunkJoiner({ ...limits, maxHeldBytes: 10_000 });
          const payloads = all.map((size) => filled(size));
          const parts = payloads
            .flatMap((payload, message) => cut(String(message), payload, chunkBytes))
            .map((part) => ({ ...part, key: draws.next().value ?? 0 }))
            .sort((a, b) => a.key - b.key);

          const joined = new Map<string, Uint8Array>();
          for (const { header, part } of parts) {
            const whole = joiner.add(header, part, header.index === 0 ? "reply" : "", 0);
            if (whole === null) {
              expect(joiner.add(header, part, "", 0)).toBeNull(); // a repeat
              continue;
            }
            expect(whole.reply).toBe("reply");
            joined.set(header.id, whole.payload);
          }

          expect(payloads.map((_, message) => joined.get(String(message)))).toEqual(payloads);
          expect([joiner.heldBytes, joiner.unfinished, joiner.takeDropped()]).toEqual([0, 0, 0]);
        },
      ),
    );
  });

  it("cuts into views of the asked size", () => {
    const payload = filled(10);

    const parts = splitPayload(payload, 4);

    expect(parts.map((part) => part.length)).toEqual([4, 4, 2]);
    expect(parts.every((part) => part.buffer === payload.buffer)).toBe(true);
  });
});

describe("ChunkJoiner", () => {
  it("drops what does not grow for a while, and counts it once", () => {
    const joiner = new ChunkJoiner(limits);
    const [first, second] = cut("a", filled(200), 100);
    if (first === undefined || second === undefined) return expect.unreachable();
    joiner.add(first.header, first.part, "", 0);

    joiner.dropStale(99);
    expect(joiner.unfinished).toBe(1);
    joiner.dropStale(100);

    expect([joiner.unfinished, joiner.heldBytes, joiner.has("a")]).toEqual([0, 0, false]);
    expect([joiner.takeDropped(), joiner.takeDropped()]).toEqual([1, 0]);
    expect(joiner.add(second.header, second.part, "", 101)).toBeNull();
  });

  it("holds no more than its limit: the oldest unfinished message goes first", () => {
    const joiner = new ChunkJoiner(limits);
    for (const id of ["a", "b", "c", "d"]) {
      const [part] = cut(id, filled(2_000), 1_000);
      if (part !== undefined) joiner.add(part.header, part.part, "", 0);
    }

    expect(joiner.heldBytes).toBe(3_000);
    expect(["a", "b", "c", "d"].map((id) => joiner.has(id))).toEqual([false, true, true, true]);
    expect(joiner.takeDropped()).toBe(1);
    joiner.clear();
    expect([joiner.heldBytes, joiner.takeDropped()]).toEqual([0, 3]);
  });

  it("makes no room for parts that a header only promises", () => {
    const joiner = new ChunkJoiner({ ...limits, maxMessageBytes: 2 ** 26, maxHeldBytes: 2 ** 27 });
    const before = process.memoryUsage().heapUsed;

    for (let i = 0; i < 20; i++) {
      const header = { id: `p-${i}`, index: 0, count: 2 ** 26, totalBytes: 2 ** 26, rest: "" };
      expect(joiner.add(header, filled(1), "", 0)).toBeNull();
    }

    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
    expect(joiner.unfinished).toBe(20);
  });

  it("holds no more than so many messages, however small", () => {
    const joiner = new ChunkJoiner(limits);

    for (let i = 0; i < 5_000; i++) {
      joiner.add({ id: `s-${i}`, index: 0, count: 2, totalBytes: 2, rest: "" }, filled(0), "", 0);
    }

    expect([joiner.unfinished, joiner.takeDropped()]).toEqual([4_096, 904]);
    expect(joiner.has("s-0")).toBe(false);
  });

  it("takes nothing of a message over its limit or of one whose parts do not add up", () => {
    const joiner = new ChunkJoiner(limits);
    const header = { id: "a", index: 0, count: 2, totalBytes: 10_001, rest: "" };

    expect(joiner.add(header, filled(100), "", 0)).toBeNull();
    expect(joiner.add({ ...header, index: 1 }, filled(100), "", 0)).toBeNull();
    expect([joiner.unfinished, joiner.takeDropped()]).toEqual([0, 1]);
    const wrong = { id: "b", count: 2, totalBytes: 150, rest: "" };
    joiner.add({ ...wrong, index: 0 }, filled(100), "", 0);
    expect(joiner.add({ ...wrong, index: 1 }, filled(100), "", 0)).toBeNull();
    expect([joiner.unfinished, joiner.heldBytes, joiner.takeDropped()]).toEqual([0, 0, 1]);
  });
});

describe("chunk headers", () => {
  const header: ChunkHeader = {
    id: "a-1",
    index: 2,
    count: 3,
    totalBytes: 500,
    rest: "inbox.c.a-1",
  };

  it("read back as they were written, and fit into their room", () => {
    const fields = new Map(writeChunkHeader(header));

    expect(readChunkHeader((name) => fields.get(name) ?? "")).toEqual(header);
    const longest = { ...header, id: "i".repeat(84), rest: "r".repeat(200), totalBytes: 2 ** 31 };
    const bytes = writeChunkHeader(longest).map(([name, value]) => name.length + value.length + 4);
    expect(bytes.reduce((sum, one) => sum + one, 12)).toBeLessThanOrEqual(chunkHeaderBytes);
  });

  it("are null on a whole message and an error where the numbers make no sense", () => {
    expect(readChunkHeader(() => "")).toBeNull();
    for (const [name, value] of [
      [chunkHeaderNames.index, "3"],
      [chunkHeaderNames.index, "-1"],
      [chunkHeaderNames.count, "many"],
      [chunkHeaderNames.bytes, ""],
    ] as const) {
      const fields = new Map([...writeChunkHeader(header), [name, value]]);
      if (value === "") fields.delete(name);
      expect(() => readChunkHeader((key) => fields.get(key) ?? "x")).toThrow(
        expect.objectContaining({ code: "malformed_message" }),
      );
    }
  });
});
