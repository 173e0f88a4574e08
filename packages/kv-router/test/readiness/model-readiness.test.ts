import { expect, it } from "vitest";
import { modelReadiness, type WorkerSetFacts } from "../../src/index.ts";
import { workerSet } from "../support.ts";

const prefill = workerSet("prefill");
const decode = workerSet("decode");

it("is ready with its mode", () => {
  expect(modelReadiness([prefill, decode])).toEqual({
    ready: true,
    mode: "disaggregated",
    missing: [],
    ambiguous: [],
  });
});

it.each<{ code: string; text: string; sets: WorkerSetFacts[] }>([
  { code: "no_workers", text: "no worker is live", sets: [] },
  {
    code: "no_workers",
    text: "no worker is live",
    sets: [workerSet("prefill", { live: 0 }), workerSet("decode", { live: 0 })],
  },
  { code: "missing_prefill", text: "missing worker types: prefill", sets: [decode] },
  { code: "missing_decode", text: "missing worker types: decode", sets: [prefill] },
  {
    code: "missing_decode",
    text: "missing worker types: decode",
    sets: [workerSet("prefill", { needs: [] }), workerSet("decode", { live: 0 })],
  },
  {
    code: "missing_prefill",
    text: "missing worker types: aggregated, prefill",
    sets: [workerSet("decode", { needs: [["prefill"], ["aggregated"]] })],
  },
  {
    code: "no_workers",
    text: "missing worker types: aggregated",
    sets: [workerSet("decode", { needs: [["aggregated"]] })],
  },
  {
    code: "ambiguous_sets",
    text: "more than one live set of: prefill (p1, p2)",
    sets: [workerSet("prefill", { set: "p1" }), workerSet("prefill", { set: "p2" }), decode],
  },
  {
    code: "card_conflict",
    text: "prefill workers of set prefill are refused: their blockSize, hashSalt differ",
    sets: [decode, workerSet("prefill", { live: 0, conflicts: ["blockSize", "hashSalt"] })],
  },
  {
    code: "card_conflict",
    text: "decode workers of set decode are refused: their blockSize differ",
    sets: [workerSet("decode", { live: 0, conflicts: ["blockSize"] })],
  },
])("is not ready: $code, $text", ({ code, text, sets }) => {
  expect(modelReadiness(sets)).toMatchObject({ ready: false, why: { code, text } });
});

it("does not blame a refused worker when its type is not missing", () => {
  const refusedTwin = workerSet("decode", { conflicts: ["blockSize"] });

  expect(modelReadiness([refusedTwin]).why?.code).toBe("missing_prefill");
});

it("is activating while a router still builds the route", () => {
  expect(modelReadiness([prefill, decode], "pending")).toMatchObject({
    ready: false,
    why: { code: "activating" },
  });
  expect(modelReadiness([prefill, decode], "active")).toMatchObject({ ready: true });
});

it("says what is missing even where aggregated workers serve", () => {
  expect(modelReadiness([decode, workerSet("aggregated")])).toEqual({
    ready: true,
    mode: "aggregated",
    missing: ["prefill"],
    ambiguous: [],
  });
});

it("follows prefill going and coming back, with and without decode-only", () => {
  const gone = workerSet("prefill", { live: 0 });
  const decodeOnly = workerSet("decode", { needs: [] });
  const steps = [[decode], [decode, prefill], [decode, gone], [decode, prefill]];

  expect(steps.map((sets) => modelReadiness(sets).why?.code ?? "ready")).toEqual([
    "missing_prefill",
    "ready",
    "missing_prefill",
    "ready",
  ]);
  expect(modelReadiness([decodeOnly, gone])).toMatchObject({ ready: true, mode: "decode-only" });
});
