import { describe, expect, it } from "vitest";
import { adminUrl } from "../src/common-options.ts";

describe("adminUrl", () => {
  it("is a path at the admin port", () => {
    expect(adminUrl("/status", "http://127.0.0.1:8001").href).toBe("http://127.0.0.1:8001/status");
  });

  it.each(["nonsense", "", "127.0.0.1:8001", "ftp://x", "http://"])("refuses %j", (admin) => {
    expect(() => adminUrl("/status", admin)).toThrow(/--admin: must be http:\/\/HOST:PORT/);
  });
});
