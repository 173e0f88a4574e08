import { describe, expect, it } from "vitest";
import { Measurements } from "../../src/sim/measurements.ts";
import { requestOf } from "../support/builders.ts";

describe("measurements", () => {
  it("take the first token from arrival and each further one from the one before", () => {
    const measured = new Measurements();
    const request = requestOf(4, [1, 2], 3);

    measured.prefilled(request, 1);
    for (const nowMs of [30, 40, 60]) measured.token(request, nowMs);
    measured.ended(request, 60);

    expect([...measured.itlMs.values()]).toEqual([10, 20]);
    expect(measured.outcomes).toEqual([
      {
        index: 4,
        arrivedMs: 0,
        ttftMs: 30,
        itlMs: 15,
        endedMs: 60,
        outputTokens: 3,
        blocksAsked: 2,
        blocksFound: 1,
      },
    ]);
    expect([measured.blocksFound, measured.blocksAsked]).toEqual([1, 2]);
  });

  it("have no time between tokens of a request with one", () => {
    const measured = new Measurements();
    const request = requestOf();
    measured.token(request, 5);
    measured.ended(request, 5);

    expect(measured.outcomes[0]?.itlMs).toBe(0);
    expect(measured.itlMs.count).toBe(0);
  });

  it("name what nobody could run, and tell it apart in the digest", () => {
    const [refusing, plain] = [new Measurements(), new Measurements()];

    refusing.refuse(requestOf(3), 1);

    expect(refusing.refused).toEqual([3]);
    expect(refusing.digest.end()).not.toBe(plain.digest.end());
  });
});
