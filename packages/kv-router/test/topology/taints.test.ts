import { describe, expect, it } from "vitest";
import { satisfies, topologyTaint, workerTaints } from "../../src/index.ts";
import {
  missingTaints,
  preferenceFactor,
  preferencesOf,
  topologyDomain,
} from "../../src/topology/taints.ts";

const prefer = (preferredTaints: Record<string, number>) =>
  preferencesOf({ requiredTaints: [], preferredTaints });

it("makes taints of a worker's places and keeps its own", () => {
  expect(workerTaints({ taints: ["gpu"], topology: { rack: "r1", zone: "z=2" } })).toEqual(
    new Set(["gpu", "baton.topology/rack=r1", "baton.topology/zone=z=2"]),
  );
});

it("reads the domain back from a topology taint only", () => {
  expect(topologyDomain(topologyTaint("zone", "z=2"))).toBe("zone");
  expect(topologyDomain("gpu=a100")).toBeUndefined();
  expect(topologyDomain("baton.topology/zone")).toBeUndefined();
});

describe("required taints", () => {
  const constraints = { requiredTaints: ["a", "b"], preferredTaints: {} };

  it("are satisfied when the worker has them all", () => {
    expect(satisfies(new Set(["b", "a", "c"]), constraints)).toBe(true);
    expect(satisfies(new Set(["a"]), constraints)).toBe(false);
    expect(missingTaints(new Set(["a"]), constraints)).toEqual(["b"]);
  });

  it("are satisfied by anyone when there are none", () => {
    expect(satisfies(new Set(), undefined)).toBe(true);
    expect(missingTaints(new Set(), undefined)).toEqual([]);
  });
});

describe("preferenceFactor", () => {
  it("is about a half for a weight of 0.85", () => {
    expect(preferenceFactor(new Set(["near"]), prefer({ near: 0.85 }))).toBeCloseTo(0.5, 2);
  });

  it("adds the weights of the taints that the worker has", () => {
    const constraints = prefer({ near: 0.5, fast: 0.5, big: 9 });

    expect(preferenceFactor(new Set(["near", "fast"]), constraints)).toBeCloseTo(
      Math.exp(-Math.tanh(1)),
    );
  });

  it("stays between about 0.37 and 2.72", () => {
    expect(preferenceFactor(new Set(["x"]), prefer({ x: 100 }))).toBeCloseTo(0.368, 3);
    expect(preferenceFactor(new Set(["x"]), prefer({ x: -100 }))).toBeCloseTo(Math.E, 3);
  });

  it("is 1 when nothing is preferred or nothing fits", () => {
    expect(preferenceFactor(new Set(["x"]), preferencesOf(undefined))).toBe(1);
    expect(preferenceFactor(new Set(["x"]), prefer({ y: 1 }))).toBe(1);
  });
});
