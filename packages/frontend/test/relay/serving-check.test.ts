import type { RouterRole, ServingError } from "@baton/protocol";
import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import type { ServedModel } from "../../src/relay/model-directory.ts";
import {
  noRouterError,
  whyNotRead,
  whyNotRouted,
  whyNotServed,
} from "../../src/relay/serving-check.ts";

const model: ServedModel = {
  name: "m" as ServedModel["name"],
  card: null,
  mode: "disaggregated",
  why: null,
  textWhy: null,
  sets: [],
  missing: [],
  ambiguous: [],
  sinceMs: 0,
};
const codeOf = (error: ServingError | null): string =>
  error === null ? "none" : `${error.code} ${error.details.why ?? ""}`.trim();

describe("whether a model is served", () => {
  it("is said with the reason", () => {
    expect(whyNotServed(model)).toBeNull();
    expect(
      codeOf(whyNotServed({ ...model, mode: null, why: { code: "missing_decode", text: "no" } })),
    ).toBe("not_ready missing_decode");
    expect(codeOf(whyNotServed({ ...model, mode: null }))).toBe("not_ready no_workers");
  });
});

describe("whether a prompt is read", () => {
  it("is said with the reason", () => {
    const textWhy = { code: "activating", text: "not loaded" } as const;

    expect(whyNotRead(model)).toBeNull();
    expect(codeOf(whyNotRead({ ...model, textWhy }))).toBe("not_ready activating");
    expect(whyNotRead({ ...model, textWhy })?.message).toBe("not loaded");
  });
});

describe("whether a request is routed", () => {
  const without = (...gone: RouterRole[]) => ({
    mayHave: (role: RouterRole) => !gone.includes(role),
  });

  it("depends on the routers that it needs", () => {
    expect(codeOf(whyNotRouted(without(), "m", true))).toBe("none");
    expect(codeOf(whyNotRouted(without("prefill-router"), "m", true))).toBe(
      "prefill_activating activating",
    );
    expect(codeOf(whyNotRouted(without("prefill-router"), "m", false))).toBe("none");
    expect(codeOf(whyNotRouted(without("decode-router"), "m", true))).toBe("not_ready activating");
  });
});

describe("a leg that no router serves", () => {
  it("is the bus's fault while routers may be on their way back to it", async () => {
    const clock = new VirtualClock();
    const options = { routerNoticeMs: 1_500 } as Parameters<typeof noRouterError>[0]["options"];
    const state = { busBackAtMs: clock.nowMs(), clock, options };

    expect(codeOf(noRouterError(state, "prefill"))).toBe("bus_unavailable");
    await clock.advanceBy(1_500);
    expect(codeOf(noRouterError(state, "prefill"))).toBe("prefill_activating activating");
    expect(codeOf(noRouterError(state, "decode"))).toBe("not_ready activating");
  });
});
