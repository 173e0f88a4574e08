import { expect, it } from "vitest";
import { sessionKey } from "../../src/index.ts";

it("binds a session under its own id", () => {
  expect(sessionKey({ id: "a" }, false)).toBe(sessionKey({ id: "a" }, true));
  expect(sessionKey({ id: "a" }, false)).not.toBe(sessionKey({ id: "b" }, false));
});

it("binds the children of one parent together, apart from the parent", () => {
  const first = sessionKey({ id: "child-1", parent: "root" }, false);

  expect(sessionKey({ id: "child-2", parent: "root" }, false)).toBe(first);
  expect(sessionKey({ id: "root" }, false)).not.toBe(first);
});

it("lets a pinned child speak for itself", () => {
  expect(sessionKey({ id: "child-1", parent: "root" }, true)).toBe(
    sessionKey({ id: "child-1" }, false),
  );
});

it("keeps a client's id from looking like a key made from a parent's", () => {
  expect(sessionKey({ id: "p:root" }, false)).not.toBe(
    sessionKey({ id: "x", parent: "root" }, false),
  );
});
