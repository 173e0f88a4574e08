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

    expect(missingFor(plan, "m", status, [])).toEqual([
      "discovery d to start",
      "frontend f (syncing)",
    ]);
  });

  it("says why a model is not ready", () => {
    const why = { code: "missing_prefill" as const, text: "missing worker types: prefill" };
    const status = { ...all, models: [{ ...model, ready: false, why }] };

    expect(missingFor(plan, "m", status, ["m"])).toEqual(["m: missing worker types: prefill"]);
  });

  it("waits for the catalog and for the Frontend's own list", () => {
    expect(missingFor(plan, "other", all, [])).toEqual(["Discovery to list other"]);
    expect(missingFor(plan, "m", all, [])).toEqual(["the Frontend to load the tokenizer of m"]);
  });

  it("misses nothing when a completion can be served", () => {
    expect(missingFor(plan, "m", all, ["m"])).toEqual([]);
  });
});
