import { requestId, type ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { nextRequestPhases, type RequestPhase } from "../src/request-phase.ts";
import { RequestRecord } from "../src/request-record.ts";

const phases = Object.keys(nextRequestPhases) as RequestPhase[];

function recordIn(path: readonly RequestPhase[]): RequestRecord {
  const record = new RequestRecord({
    head: {
      requestId: requestId("r1"),
      frontendId: "fe-1" as never,
      frontendGeneration: 1,
      stream: 1,
    },
    leg: "decode",
    dpRank: 0,
    promptTokens: 3,
    choices: 2,
    decodeConstraints: null,
    computesPrompt: true,
  });
  for (const phase of path) record.moveTo(phase);
  return record;
}

/** Every way from the first phase, by the table. */
function walk(path: readonly RequestPhase[] = []): (readonly RequestPhase[])[] {
  const at = path.at(-1) ?? "waiting";
  return [path, ...nextRequestPhases[at].flatMap((next) => walk([...path, next]))];
}

describe("the phases of a request", () => {
  it("all lead to the end, in at most four moves", () => {
    const ways = walk();

    expect(new Set(ways.flat())).toEqual(new Set(phases.filter((phase) => phase !== "waiting")));
    for (const way of ways) expect(way.length).toBeLessThanOrEqual(4);
    for (const phase of phases.filter((one) => one !== "ended")) {
      expect(nextRequestPhases[phase]).toContain("ended");
    }
  });

  it("are the only ones that a record takes, from wherever it is", () => {
    for (const way of walk()) {
      const at = way.at(-1) ?? "waiting";
      for (const phase of phases) {
        const record = recordIn(way);
        if (nextRequestPhases[at].includes(phase)) {
          record.moveTo(phase);
          expect(record.phase).toBe(phase);
        } else {
          expect(() => record.moveTo(phase)).toThrow(
            expect.objectContaining<Partial<ServingError>>({ code: "internal" }),
          );
        }
      }
    }
  });
});

describe("the choices of a request", () => {
  it("end one by one, and the request with the last", () => {
    const record = recordIn(["decoding"]);

    expect(record.advance(0, 0, 2, false)).toBe(false);
    expect(record.nextOffsets).toEqual([2, 0]);
    expect(record.advance(0, 2, 1, true)).toBe(false);
    expect(record.advance(0, 3, 1, true)).toBe(false);
    expect(record.advance(1, 0, 1, true)).toBe(true);
    expect(record.nextOffsets).toEqual([-1, -1]);
  });
});
