import { describe, expect, it } from "vitest";
import { nextHandoffPhases } from "../src/index.ts";

describe("the phases of a handoff", () => {
  it("end in just three ways, from which nothing leads on", () => {
    const finals = Object.entries(nextHandoffPhases).filter(([, next]) => next.length === 0);

    expect(finals.map(([phase]) => phase)).toEqual(["pulled", "released", "expired"]);
  });

  it("never lead back to staged", () => {
    expect(Object.values(nextHandoffPhases).flat()).not.toContain("staged");
  });
});
