import { readOptions } from "@baton/runtime";
import { expect, it } from "vitest";
import { routerOptions } from "../src/router-options.ts";

const read = (flags: Record<string, string>, env: Record<string, string> = {}) =>
  readOptions(routerOptions("decode-router"), { flags, env });

it("has defaults for its limits, and leaves the policy to the policy", () => {
  expect(read({})).toEqual({
    queueLimit: 1_024,
    bookingLimit: 65_536,
    bookingGraceMs: 2_000,
    refusalMs: 1_000,
  });
});

it("takes flags before the environment of its role", () => {
  const env = { BATON_DECODE_ROUTER_ROUTER_MODE: "random", BATON_DECODE_ROUTER_QUEUE_LIMIT: "5" };

  expect(read({ "router-mode": "round-robin" }, env)).toMatchObject({
    routerMode: "round-robin",
    queueLimit: 5,
  });
});

it("refuses a mode that there is not", () => {
  expect(() => read({ "router-mode": "best" })).toThrow(/there is no router mode "best"/);
});

it("names every value that is out of range", () => {
  expect(() => read({ "queue-limit": "-1", "booking-limit": "0" })).toThrow(
    /--queue-limit.*--booking-limit/,
  );
});

it("shows its default and its choices to people", () => {
  const mode = routerOptions("prefill-router").fields.find(({ key }) => key === "routerMode");

  expect(mode).toMatchObject({ kind: "text", flag: "router-mode" });
  expect(mode?.description).toContain("round-robin, random, least-loaded, kv");
  expect(mode?.description).toContain("Default kv");
});
