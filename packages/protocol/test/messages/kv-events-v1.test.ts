import { describe, expect, it } from "vitest";
import { pack, unpack } from "../../src/codec.ts";
import {
  type KvEvent,
  KvHistory,
  packKvEvents,
  type ServingError,
  unpackKvEvents,
} from "../../src/index.ts";

const hashes = new Uint8Array(16).fill(7);
const stored = {
  kind: "stored",
  parent: null,
  blockHashes: hashes,
  sequenceHashes: hashes,
} as const;

describe("packKvEvents", () => {
  it("leaves the device out, and numbers the other tiers", () => {
    const events: KvEvent[] = [
      { ...stored, tier: "device" },
      stored,
      { ...stored, tier: "host" },
      { kind: "removed", sequenceHashes: hashes },
      { kind: "removed", sequenceHashes: hashes, tier: "disk" },
      { kind: "cleared" },
    ];

    expect(unpack(packKvEvents(events))).toEqual([
      [0, null, hashes, hashes],
      [0, null, hashes, hashes],
      [0, null, hashes, hashes, 1],
      [1, hashes],
      [1, hashes, 2],
      [2],
    ]);
    expect(unpackKvEvents(packKvEvents(events))).toEqual([stored, ...events.slice(1)]);
  });
});

describe("unpackKvEvents", () => {
  const wrong: readonly (readonly [string, unknown])[] = [
    ["a tier that is not known", [0, null, hashes, hashes, 9]],
    ["a parent that is cut", [0, hashes.subarray(1, 8), hashes, hashes]],
    ["a parent of two blocks", [0, hashes, hashes, hashes]],
    ["a parent that is no hash", [0, "root", hashes, hashes]],
    ["a tier that is no number", [1, hashes, "gpu"]],
    ["a kind that is not known", [3]],
    ["hashes that are cut", [1, hashes.subarray(1)]],
    ["an event that is no array", 5],
  ];

  it.each(wrong)("refuses %s", (_what, event) => {
    expect(() => unpackKvEvents(pack([event]))).toThrow(
      expect.objectContaining({ code: "malformed_message" }),
    );
  });

  it.each(wrong)("leaves out %s and says so, for who wants the others", (_what, event) => {
    const problems: ServingError[] = [];

    const events = unpackKvEvents(pack([[2], event, [1, hashes]]), (error) => problems.push(error));

    expect(events).toEqual([{ kind: "cleared" }, { kind: "removed", sequenceHashes: hashes }]);
    expect(problems.map(({ code }) => code)).toEqual(["malformed_message"]);
  });

  it.each([
    ["no msgpack", Uint8Array.of(0xc1)],
    ["no array", pack(5)],
  ])("refuses a body that is %s", (_what, bytes) => {
    expect(() => unpackKvEvents(bytes, () => undefined)).toThrow(
      expect.objectContaining({ code: "malformed_message" }),
    );
  });
});

describe("KvHistory", () => {
  it("refuses a kind that is not known, and bodies that are no bytes", () => {
    for (const answer of [
      ["w", 1, 0, 5, "everything", []],
      ["w", 1, 0, 5, "batches", [7]],
    ]) {
      expect(() => KvHistory.decode(pack(answer))).toThrow(
        expect.objectContaining({ code: "malformed_message" }),
      );
    }
  });

  it("is all there is if it does not say that more follows", () => {
    expect(KvHistory.decode(pack(["w", 1, 0, 5, "batches", []]))).toMatchObject({
      page: 0,
      next: null,
    });
  });
});
