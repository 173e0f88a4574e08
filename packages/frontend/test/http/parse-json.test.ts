import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/http/parse-json.ts";

describe("a body as JSON", () => {
  it("is what it says", () => {
    expect(parseJson('{"a":[1]}')).toEqual({ a: [1] });
  });

  it("is refused with the parser's words", () => {
    expect(() => parseJson("{")).toThrow(
      expect.objectContaining({
        code: "invalid_request",
        message: expect.stringMatching(/^the body is not JSON: /),
      }),
    );
  });
});
