import { describe, expect, it } from "vitest";
import { nextRequestPhases, type RequestPhase } from "../src/request-phase.ts";

const phases = Object.keys(nextRequestPhases) as RequestPhase[];

describe("the phases of a request", () => {
  it("end, from wherever they are, in one move", () => {
    for (const phase of phases.filter((one) => one !== "ended")) {
      expect(nextRequestPhases[phase]).toContain("ended");
    }
    expect(nextRequestPhases.ended).toEqual([]);
  });

  it("never go back", () => {
    const order = ["waiting", "prefilling", "staged", "importing", "decoding", "ended"];
    for (const phase of phases) {
      for (const next of nextRequestPhases[phase]) {
        expect(order.indexOf(next)).toBeGreaterThan(order.indexOf(phase));
      }
    }
  });
});
