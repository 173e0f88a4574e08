import { expect, it } from "vitest";
import { builtRouterModes, createSelector, parseRouterMode, routerModes } from "../../src/index.ts";

it("builds a selector of each built mode", () => {
  expect(builtRouterModes.map((mode) => createSelector(mode).mode)).toEqual(builtRouterModes);
});

it.each(routerModes)("knows the name %s", (mode) => {
  const parsed = parseRouterMode(mode);
  const isBuilt = builtRouterModes.some((built) => built === mode);

  expect(parsed).toEqual(
    isBuilt
      ? { kind: "built", mode }
      : {
          kind: "refused",
          text: `router mode "${mode}" is not built yet: choose one of round-robin, random, least-loaded`,
        },
  );
});

it("refuses a name that no mode has", () => {
  expect(parseRouterMode("rand")).toEqual({
    kind: "refused",
    text: 'there is no router mode "rand": choose one of round-robin, random, least-loaded',
  });
});
