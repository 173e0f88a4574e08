import { createSelector } from "@baton/kv-router";
import { describe, expect, it } from "vitest";
import { createStagePolicy, type PolicyModules, type StagePolicy } from "../../src/index.ts";
import { importPolicyModules } from "../../src/policy/policy-modules.ts";
import { FakeSources, policyOf } from "../support/policy-sources.ts";

const path = "/etc/baton/mine.mjs";
const policy = policyOf(
  {},
  `
worker_selection:
  prefill: mine
  decode: yours
  instances:
    - {name: mine, type: module, module: mine.mjs, parameters: {depth: 3}}
    - {name: yours, type: module, module: ./mine.mjs}
`,
);
const good = {
  createPolicy: ({ depth = 0 }: { readonly depth?: number }) => ({
    type: `mine-${depth}`,
    usesCacheData: true,
    scorers: [{ name: "depth", cost: () => depth }],
  }),
};
const modeOf = (stage: StagePolicy, modules: PolicyModules) =>
  createSelector(createStagePolicy(stage, modules)).mode;
const importing = (module: unknown) => {
  const sources = new FakeSources();
  sources.modules.set(path, module);
  return { sources, modules: importPolicyModules(policy, "v1", sources.importModule) };
};

describe("a policy of one's own", () => {
  it("is imported once and made with the parameters of each instance", async () => {
    const { sources, modules } = importing(good);

    expect(sources.imported).toEqual([`${path} v1`]);
    expect(modeOf(policy.stages.prefill, await modules)).toBe("mine-3");
    expect(modeOf(policy.stages.decode, await modules)).toBe("mine-0");
  });

  it("is not asked for where none is named", async () => {
    const sources = new FakeSources();
    const builtIn = policyOf({ routerMode: "random" });
    const modules = await importPolicyModules(builtIn, "v1", sources.importModule);

    expect(sources.imported).toEqual([]);
    expect(modeOf(builtIn.stages.decode, modules)).toBe("random");
  });

  it.each([
    [undefined, "no module"],
    [{}, "exports no function createPolicy"],
    [{ createPolicy: 1 }, "exports no function createPolicy"],
    [{ createPolicy: () => null }, "must return"],
    [{ createPolicy: () => ({ type: "x", usesCacheData: "no" }) }, "must return"],
    [{ createPolicy: () => ({ type: "x", usesCacheData: false, scorers: {} }) }, "scorers"],
    [{ createPolicy: () => ({ type: "x", usesCacheData: false, filters: [{}] }) }, "filters"],
    [{ createPolicy: () => ({ type: "x", usesCacheData: false, picker: {} }) }, "picker"],
    [{ createPolicy: () => ({ type: "x", usesCacheData: true, tierWeights: 1 }) }, "tierWeights"],
    [
      {
        createPolicy: () => ({
          type: "x",
          usesCacheData: true,
          tierWeights: { host: Number.NaN, disk: 0 },
        }),
      },
      "tierWeights",
    ],
    [
      {
        createPolicy: () => {
          throw new RangeError("depth is needed");
        },
      },
      "depth is needed",
    ],
  ])("is refused with its name and path if the module is no good: %j", async (module, words) => {
    const { modules } = importing(module);

    await expect(modules).rejects.toMatchObject({
      code: "config_invalid",
      details: {
        options: [
          expect.stringMatching(new RegExp(`"mine" of ${path}: .*${words}`)),
          expect.stringMatching(new RegExp(`"yours" of ${path}: .*${words}`)),
        ],
      },
    });
  });
});

it("is made anew for each pool, since it may remember what it chose", async () => {
  const modules = await importing(good).modules;
  const { prefill } = policy.stages;

  expect(createStagePolicy(prefill, modules)).not.toBe(createStagePolicy(prefill, modules));
});
