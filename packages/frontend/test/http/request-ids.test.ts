import { describe, expect, it } from "vitest";
import { clientRequestId, traceparent } from "../../src/http/request-ids.ts";

describe("ids that a client sends", () => {
  it("are taken if they are visible ASCII of a sane length", () => {
    expect(clientRequestId("a-1/b:2")).toBe("a-1/b:2");
    expect(clientRequestId("a b")).toBeNull();
    expect(clientRequestId("é")).toBeNull();
    expect(clientRequestId("x".repeat(201))).toBeNull();
    expect(clientRequestId(undefined)).toBeNull();
  });

  it("are a trace context only if well-formed", () => {
    const good = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

    expect(traceparent(good)).toBe(good);
    expect(traceparent("00-x")).toBeNull();
  });
});
