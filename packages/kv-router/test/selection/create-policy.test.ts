import { expect, it } from "vitest";
import { routerModes } from "../../src/index.ts";
import { createPolicy } from "../../src/selection/create-policy.ts";

it.each(routerModes)("names the policy of %s after its mode", (mode) => {
  expect(createPolicy({ mode }).type).toBe(mode);
});

it("looks at overlaps in the modes that route by prefix only", () => {
  const looking = routerModes.filter((mode) => createPolicy({ mode }).usesCacheData);

  expect(looking).toEqual(["kv", "two-tier"]);
});

it("needs a pin in the mode that never chooses only", () => {
  const needing = routerModes.filter((mode) => createPolicy({ mode }).needsPin === true);

  expect(needing).toEqual(["direct"]);
});

it("refuses a parameter that the mode does not have, or that is out of range, by name", () => {
  const build = (parameters: Record<string, number>) => () =>
    createPolicy({ mode: "kv", parameters });

  expect(build({ cache_threshold: 1 })).toThrow(/policy "kv" has no parameter "cache_threshold"/);
  expect(build({ host_cache_hit_weight: 1.5 })).toThrow(
    "host_cache_hit_weight must be from 0 to 1, not 1.5",
  );
});
