import { describe, expect, it } from "vitest";
import { planCluster, workerCounts } from "../../src/up/plan.ts";

const input = {
  prefill: 2,
  decode: 1,
  aggregated: 1,
  decodeOnly: true,
  routerMode: "random",
  policyFile: null,
  port: 8_000,
  host: "127.0.0.1",
  frontendFlags: { "cors-origins": ["*"], "max-in-flight": "9" },
  workerFlags: { engine: "mock", "model-name": "m" },
  tag: "t1",
};

describe("planCluster", () => {
  it("plans one of each actor and the workers asked for, the Frontend last", () => {
    expect(planCluster(input).map(({ role, id }) => `${role} ${id}`)).toEqual([
      "discovery discovery-t1",
      "kv-event-aggregator kv-event-aggregator-t1",
      "prefill-router prefill-router-t1",
      "decode-router decode-router-t1",
      "worker prefill-0-t1",
      "worker prefill-1-t1",
      "worker decode-0-t1",
      "worker aggregated-0-t1",
      "frontend frontend-t1",
    ]);
  });

  it("gives both routers the mode and the policy file that were asked for, and nothing where nothing was", () => {
    const flagsOf = (
      changes: Partial<typeof input> | { readonly routerMode: null; readonly policyFile: string },
    ) =>
      planCluster({ ...input, ...changes })
        .filter(({ role }) => role.endsWith("-router"))
        .map(({ flags }) => flags);

    expect(flagsOf({})).toEqual([{ "router-mode": "random" }, { "router-mode": "random" }]);
    expect(flagsOf({ routerMode: null, policyFile: "p.yaml" })).toEqual([
      { "policy-file": "p.yaml" },
      { "policy-file": "p.yaml" },
    ]);
  });

  it("gives every worker the engine's flags and its type, and only decode workers decode-only", () => {
    const flags = planCluster(input)
      .filter(({ role }) => role === "worker")
      .map((actor) => actor.flags);

    expect(
      flags.map((given) => [given.engine, given["worker-type"], given["decode-only"]]),
    ).toEqual([
      ["mock", "prefill", undefined],
      ["mock", "prefill", undefined],
      ["mock", "decode", true],
      ["mock", "aggregated", undefined],
    ]);
  });

  it("gives the routers their mode and the Frontend its address and what was given for it", () => {
    const byRole = new Map(planCluster(input).map((actor) => [actor.role, actor.flags]));

    expect(byRole.get("prefill-router")).toEqual({ "router-mode": "random" });
    expect(byRole.get("decode-router")).toEqual({ "router-mode": "random" });
    expect(byRole.get("frontend")).toEqual({
      "cors-origins": ["*"],
      "max-in-flight": "9",
      port: "8000",
      host: "127.0.0.1",
    });
  });
});

describe("workerCounts", () => {
  it.each([
    [{}, { prefill: 1, decode: 1, aggregated: 0 }],
    [{ aggregated: 2 }, { prefill: 0, decode: 0, aggregated: 2 }],
    [
      { aggregated: 1, decode: 1 },
      { prefill: 1, decode: 1, aggregated: 1 },
    ],
    [{ prefill: 0 }, { prefill: 0, decode: 1, aggregated: 0 }],
    [
      { prefill: 3, decode: 2 },
      { prefill: 3, decode: 2, aggregated: 0 },
    ],
  ])("makes of %j the counts %j", (asked, counts) => {
    expect(workerCounts(asked)).toEqual(counts);
  });

  it.each([{ prefill: 0, decode: 0 }, { aggregated: 0 }])(
    "refuses %j, with which there would be no worker",
    (asked) => {
      expect(() => workerCounts(asked)).toThrow(/--decode/);
    },
  );
});
