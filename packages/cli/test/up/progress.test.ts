import { describe, expect, it } from "vitest";
import type { ActorStatus, ClusterStatus, ModelStatus } from "../../src/bus-tools/status.ts";
import { missingFor } from "../../src/up/progress.ts";

const plan = [
  { role: "discovery" as const, id: "d", flags: {} },
  { role: "frontend" as const, id: "f", flags: {} },
];
const actor = (id: string, role: string, state = "ready"): ActorStatus => ({
  id,
  role,
  state,
  pid: 1,
  host: "h",
  admin: null,
  namespace: "default",
  generation: 1,
});
const model: ModelStatus = {
  namespace: "default",
  model: "m",
  ready: true,
  why: null,
  activation: "active",
  sets: [],
};
const all: ClusterStatus = {
  actors: [actor("d", "discovery"), actor("f", "frontend")],
  models: [model],
};

describe("missingFor", () => {
  it("names actors that are not there or not ready", () => {
    const status = { ...all, actors: [actor("f", "frontend", "syncing")] };

    expect(missingFor(plan, "m", status, null)).toEqual([
      "discovery d to start",
      "frontend f (syncing)",
    ]);
  });

  it("says why a model is not ready", () => {
    const why = { code: "missing_prefill" as const, text: "missing worker types: prefill" };
    const status = { ...all, models: [{ ...model, ready: false, why }] };

    expect(missingFor(plan, "m", status, null)).toEqual(["m: missing worker types: prefill"]);
  });

  it("waits for the catalog, and for the Frontend until it would serve at once", () => {
    const unready = "the tokenizer of m is being loaded";

    expect(missingFor(plan, "other", all, null)).toEqual(["Discovery to list other"]);
    expect(missingFor(plan, "m", all, unready)).toEqual([`the Frontend: ${unready}`]);
  });

  it("misses nothing when a completion can be served", () => {
    expect(missingFor(plan, "m", all, null)).toEqual([]);
  });
});
