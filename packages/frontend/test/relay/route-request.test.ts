import { describe, expect, it } from "vitest";
import { bounceKeyOf, readBounceKey } from "../../src/relay/route-request.ts";

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
