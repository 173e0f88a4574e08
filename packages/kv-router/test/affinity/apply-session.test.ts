import { describe, expect, it } from "vitest";
import { type AffinityMode, applySession, type SelectionRequest } from "../../src/index.ts";
import { candidate, worker } from "../support.ts";

const target = { workerId: worker("w1"), generation: 1, dpRank: 1 };
const candidates = [
  candidate("w1"),
  candidate("w1", { dpRank: 1, taints: new Set(["gpu"]) }),
  candidate("w2"),
];

const apply = (
  mode: AffinityMode,
  request: Pick<SelectionRequest, "pin" | "allowedWorkers" | "constraints"> = {},
  among = candidates,
) => applySession(mode, target, request, among);
const requires = (taint: string) => ({
  constraints: { requiredTaints: [taint], preferredTaints: {} },
});
const modes = ["hard", "soft"] as const;

describe("a session's rank", () => {
  it("is a pin in hard mode and a preference in soft mode", () => {
    const rank = { workerId: worker("w1"), dpRank: 1 };

    expect(apply("hard")).toEqual({ kind: "rule", rule: { pin: rank } });
    expect(apply("soft")).toEqual({ kind: "rule", rule: { preferred: rank } });
  });

  it.each(modes)("is gone in %s mode when the worker is", (mode) => {
    expect(apply(mode, {}, [candidate("w2")])).toEqual({ kind: "stale" });
  });

  it.each(modes)("is gone in %s mode when the worker has fewer ranks", (mode) => {
    expect(apply(mode, {}, [candidate("w1")])).toEqual({ kind: "stale" });
  });

  it.each(modes)("is gone in %s mode when the worker has started anew", (mode) => {
    const restarted = [candidate("w1", { dpRank: 1, generation: 2 })];

    expect(apply(mode, {}, restarted)).toEqual({ kind: "stale" });
  });

  it.each(modes)("is gone in %s mode when the worker drains", (mode) => {
    const drains = [candidate("w1", { dpRank: 1, draining: true })];

    expect(apply(mode, {}, drains)).toEqual({ kind: "stale" });
  });

  it.each(modes)("is gone in %s mode when the request's rules exclude it", (mode) => {
    expect(apply(mode, requires("zone-b"))).toEqual({ kind: "stale" });
    expect(apply(mode, { allowedWorkers: new Set([worker("w2")]) })).toEqual({ kind: "stale" });
    expect(apply(mode, requires("gpu")).kind).toBe("rule");
    expect(apply(mode, { allowedWorkers: new Set([worker("w1")]) }).kind).toBe("rule");
  });

  it.each(modes)("stays in %s mode while the worker is only busy", (mode) => {
    const busy = [candidate("w1", { dpRank: 1, overloaded: true, refusesUntilMs: 9_999 })];

    expect(apply(mode, {}, busy).kind).toBe("rule");
  });
});

describe("a pin", () => {
  it.each(modes)("without rank gets the session's in %s mode if the worker is the same", (mode) => {
    expect(apply(mode, { pin: { workerId: worker("w1") } })).toEqual({
      kind: "rule",
      rule: { pin: { workerId: worker("w1"), dpRank: 1 } },
    });
  });

  it.each([{ workerId: worker("w2") }, { workerId: worker("w1"), dpRank: 0 }])(
    "that contradicts a live binding is refused in hard mode: %j",
    (pin) => {
      expect(apply("hard", { pin })).toMatchObject({
        kind: "contradiction",
        text: expect.stringContaining("w1 rank 1"),
      });
    },
  );

  it("beats the session in soft mode", () => {
    expect(apply("soft", { pin: { workerId: worker("w2") } })).toEqual({ kind: "rule", rule: {} });
  });

  it("contradicts nothing when the binding's worker is gone", () => {
    const pin = { workerId: worker("w2") };

    expect(apply("hard", { pin }, [candidate("w2")])).toEqual({ kind: "stale" });
  });

  it("of a rank alone is left to selection, which refuses it", () => {
    expect(apply("hard", { pin: { dpRank: 0 } })).toEqual({ kind: "rule", rule: {} });
  });
});
