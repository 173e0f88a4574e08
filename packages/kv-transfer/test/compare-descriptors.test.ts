import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { compareDescriptors, differingField } from "../src/index.ts";
import { createDesk, sourceOf, stageOn } from "./support.ts";

const ticket = stageOn(createDesk(new VirtualClock()), "h:1", sourceOf([1]), 1);

describe("compareDescriptors", () => {
  it("takes a ticket whose fields are all its own", () => {
    expect(() => compareDescriptors(ticket, { engine: "mock" })).not.toThrow();
  });

  it("takes a ticket without descriptor for an engine without one", () => {
    expect(() => compareDescriptors({ ...ticket, descriptor: null }, null)).not.toThrow();
  });

  it.each([
    ["engine", { engine: "llama" }],
    ["layers", { engine: "mock", layers: 3 }],
  ])("names the differing field %s", (field, own) => {
    expect(() => compareDescriptors(ticket, own)).toThrow(
      expect.objectContaining({
        code: "handoff_refused",
        details: expect.objectContaining({ field, reason: "descriptor" }),
      }),
    );
  });

  it.each([
    [null, { engine: "mock" }],
    [{ engine: "mock" }, null],
  ])("refuses when one side has no descriptor", (offered, own) => {
    expect(() => compareDescriptors({ ...ticket, descriptor: offered }, own)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ field: "descriptor" }) }),
    );
  });

  it("tells a number from its text", () => {
    expect(differingField({ a: 1 }, { a: "1" })).toBe("a");
  });
});
