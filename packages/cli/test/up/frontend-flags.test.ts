import { frontend } from "@baton/frontend";
import { describe, expect, it } from "vitest";
import { upOptions } from "../../src/common-options.ts";
import { frontendFlags, upFrontendOptions } from "../../src/up/frontend-flags.ts";

describe("frontendFlags", () => {
  it("passes on what was given, the flag before the variable, and lists as lists", () => {
    const env = { BATON_MAX_IN_FLIGHT: "7", BATON_CORS_ORIGINS: "https://a.example,*" };

    expect(frontendFlags({ "max-in-flight": "3" }, env)).toEqual({
      "max-in-flight": "3",
      "cors-origins": ["https://a.example", "*"],
    });
    expect(frontendFlags({}, {})).toEqual({});
  });

  it("refuses what does not fit before anything runs, by the name under which it was given", () => {
    expect(() => frontendFlags({}, { BATON_CORS_ORIGINS: "nonsense" })).toThrow(
      /^BATON_CORS_ORIGINS/,
    );
  });
});

describe("upFrontendOptions", () => {
  it("are the Frontend's own, under variables of `up`, and none of them `up` has itself", () => {
    const known = new Map(frontend.options.fields.map((field) => [field.flag, field]));
    const own = new Set(upOptions.fields.map(({ flag }) => flag));

    for (const field of upFrontendOptions.fields) {
      expect({ ...field, env: "" }).toEqual({ ...known.get(field.flag), env: "" });
      expect(own.has(field.flag)).toBe(false);
    }
    const names = upFrontendOptions.fields.map(({ flag, env }) => `${flag} ${env}`);
    expect(names).toContain("cors-origins BATON_CORS_ORIGINS");
    expect(names).toContain("max-body-bytes BATON_MAX_BODY_BYTES");
  });
});
