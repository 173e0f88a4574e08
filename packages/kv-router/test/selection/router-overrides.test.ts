import { expect, it } from "vitest";
import { decodeOverrides, mergeDecodeOverrides } from "../../src/index.ts";

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
