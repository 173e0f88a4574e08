import { expect, it } from "vitest";
import { createSelector, parseRouterMode, routerModes } from "../../src/index.ts";

it.each(routerModes)("knows the name %s and builds its selector", (mode) => {
  expect(parseRouterMode(mode)).toEqual({ kind: "built", mode });
  expect(createSelector(mode).mode).toBe(mode);
});

it("refuses a name that no mode has", () => {
  expect(parseRouterMode("rand")).toEqual({
    kind: "refused",
    text: `there is no router mode "rand": choose one of ${routerModes.join(", ")}`,
  });
});
