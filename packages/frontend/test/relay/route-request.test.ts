import { describe, expect, it } from "vitest";
import { bounceKeyOf, decodeRules, readBounceKey } from "../../src/relay/route-request.ts";

describe("the rules of a decode leg", () => {
  const derived = { requiredTaints: ["rack=1"], preferredTaints: { fast: 1 } };

  it("are the request's own with what its prefill worker asks for", () => {
    const own = {
      session: { id: "s" },
      constraints: { requiredTaints: ["gpu=a"], preferredTaints: { fast: 0.5 } },
    };

    expect(decodeRules(own, derived)).toEqual({
      session: { id: "s" },
      constraints: { requiredTaints: ["gpu=a", "rack=1"], preferredTaints: { fast: 1 } },
    });
    expect(decodeRules(own, null)).toBe(own);
    expect(decodeRules(null, derived)).toEqual({ constraints: derived });
    expect(decodeRules(null, null)).toBeNull();
  });
});

describe("a bounce key", () => {
  it("says which leg of which stream came back", () => {
    expect(readBounceKey(bounceKeyOf("prefill", 7))).toEqual({ leg: "prefill", stream: 7 });
    expect(readBounceKey(bounceKeyOf("decode", 2 ** 32 - 1))).toEqual({
      leg: "decode",
      stream: 2 ** 32 - 1,
    });
  });

  it("is none if it is anything else", () => {
    for (const key of ["", "prefill-", "prefill-x", "other-1", "prefill-1-2"]) {
      expect(readBounceKey(key)).toBeNull();
    }
  });
});
