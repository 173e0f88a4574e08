import { expect, it } from "vitest";
import { checkRouterOverrides, decodeOverrides, mergeDecodeOverrides } from "../../src/index.ts";

const own = { overlapScoreCredit: 2, assumeKvReuse: true, routerTemperature: 0.5 };

it("turns off credit, reuse and prompt tokens", () => {
  expect(decodeOverrides()).toEqual({
    overlapScoreCredit: 0,
    assumeKvReuse: false,
    trackPrefillTokens: false,
  });
});

it("wins over a request's own values and keeps the request's other fields", () => {
  expect(mergeDecodeOverrides(own, false)).toEqual({
    overlapScoreCredit: 0,
    assumeKvReuse: false,
    trackPrefillTokens: false,
    routerTemperature: 0.5,
  });
});

it("leaves the credit alone under conditional disaggregation", () => {
  const forced = { assumeKvReuse: false, trackPrefillTokens: false };

  expect(mergeDecodeOverrides(own, true)).toEqual({ ...own, ...forced });
  expect(mergeDecodeOverrides(undefined, true)).toEqual(forced);
});

it.each([
  [{ overlapScoreCredit: -0.1 }, "overlap_score_credit"],
  [{ prefillLoadScale: Number.POSITIVE_INFINITY }, "prefill_load_scale"],
  [{ overlapScoreCredit: 1, routerTemperature: Number.NaN }, "router_temperature"],
])("refuses %o by the name of the field", (overrides, name) => {
  const fault = checkRouterOverrides(overrides);

  expect(fault?.name).toBe(name);
  expect(fault?.text).toContain(`${name} must be 0 or more`);
});

it("takes overrides within their ranges, and none", () => {
  expect(checkRouterOverrides({})).toBeUndefined();
  expect(
    checkRouterOverrides({ overlapScoreCredit: 0, prefillLoadScale: 9, routerTemperature: 0 }),
  ).toBeUndefined();
});
