import { describe, expect, it } from "vitest";
import { AllowedMethods, type ApiRoute } from "../../../src/http/routes/api-route.ts";

const route = (method: ApiRoute["method"], path: string): ApiRoute => ({
  method,
  path,
  docs: [],
  handle: () => undefined,
});

describe("the methods of a path", () => {
  it("are those of its route, or of the one that it begins with", () => {
    const allowed = new AllowedMethods([
      route("POST", "/generate"),
      route("GET", "/models"),
      route("GET", "/models/*"),
    ]);

    expect(allowed.of("/generate")).toBe("POST");
    expect(allowed.of("/models")).toBe("GET, HEAD");
    expect(allowed.of("/models/a/b")).toBe("GET, HEAD");
    expect(allowed.of("/model")).toBeUndefined();
    expect(allowed.of("/generate/x")).toBeUndefined();
  });
});
