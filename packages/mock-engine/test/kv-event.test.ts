import { expect, it } from "vitest";
import { KvEventLog } from "../src/kv-event.ts";

const hash = (low: number): Uint8Array => Uint8Array.of(low, 0, 0, 0, 0, 0, 0, 0);
const hashes = (...lows: number[]): Uint8Array =>
  Uint8Array.from(lows.flatMap((low) => [...hash(low)]));

it("tells a run of parents and children as one stored event", () => {
  const log = new KvEventLog();
  log.storedRoot(1, 0, 11, 0);
  log.storedChild(11, 0, 2, 0, 12, 0);

  expect(log.take()).toEqual([
    {
      kind: "stored",
      parent: undefined,
      blockHashes: hashes(1, 2),
      sequenceHashes: hashes(11, 12),
    },
  ]);
});

it("begins another event where the parent is not the block before", () => {
  const log = new KvEventLog();
  log.storedRoot(1, 0, 11, 0);
  log.storedRoot(2, 0, 12, 0);
  log.storedChild(11, 0, 3, 0, 13, 0);

  expect(log.take().map((event) => event.kind === "stored" && event.parent)).toEqual([
    undefined,
    undefined,
    hash(11),
  ]);
});

it("keeps the order of kinds and gathers removals in a row", () => {
  const log = new KvEventLog();
  log.removed(3, 0);
  log.removed(4, 0);
  log.storedRoot(1, 0, 11, 0);
  log.cleared();
  log.removed(11, 0);

  expect(log.take()).toEqual([
    { kind: "removed", sequenceHashes: hashes(3, 4) },
    { kind: "stored", parent: undefined, blockHashes: hash(1), sequenceHashes: hash(11) },
    { kind: "cleared" },
    { kind: "removed", sequenceHashes: hash(11) },
  ]);
});

it("is empty once its events are taken", () => {
  const log = new KvEventLog();
  log.removed(1, 0);

  expect(log.take()).toHaveLength(1);
  expect(log.take()).toEqual([]);
});

it("leaves events that were taken as they are, even none", () => {
  const log = new KvEventLog();
  const taken = log.take();
  log.removed(1, 0);
  log.take();

  expect(taken).toEqual([]);
});
