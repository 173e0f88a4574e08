import { expect, it } from "vitest";
import { checkDecodeReach } from "../../src/index.ts";
import { candidate, selectionRequest, worker } from "../support.ts";

const inRack = (name: string, place: string) =>
  candidate(name, { taints: new Set([`baton.topology/rack=${place}`]) });
const needsRack1 = selectionRequest({
  constraints: { requiredTaints: ["baton.topology/rack=r1"], preferredTaints: {} },
});

it("is reachable when one decode worker is in the domain, even a busy one", () => {
  const busy = { ...inRack("b", "r1"), maxRequestsInFlight: 0 };

  expect(checkDecodeReach(needsRack1, [inRack("a", "r2"), busy])).toEqual({ kind: "reachable" });
});

it("names the domain that no decode worker is in", () => {
  expect(checkDecodeReach(needsRack1, [inRack("a", "r2"), candidate("b")])).toEqual({
    kind: "unreachable",
    domains: ["rack"],
    missingTaints: ["baton.topology/rack=r1"],
    pinFault: null,
    text: 'no decode worker has domain "rack" (baton.topology/rack=r1)',
  });
});

it("names only what the closest worker lacks", () => {
  const constraints = {
    requiredTaints: ["baton.topology/rack=r1", "big"],
    preferredTaints: {},
  };

  expect(
    checkDecodeReach(selectionRequest({ constraints }), [candidate("far"), inRack("near", "r1")]),
  ).toMatchObject({
    domains: [],
    missingTaints: ["big"],
    text: 'no decode worker has taint "big"',
  });
});

it("does not count a draining worker in the domain", () => {
  const draining = { ...inRack("a", "r1"), draining: true };

  expect(checkDecodeReach(needsRack1, [draining])).toEqual({
    kind: "unreachable",
    domains: [],
    missingTaints: [],
    pinFault: null,
    text: "no decode worker can take the request",
  });
});

it("looks at the pinned decode worker alone", () => {
  const pinned = { ...needsRack1, pin: { workerId: worker("a") } };

  expect(checkDecodeReach(pinned, [inRack("a", "r2"), inRack("b", "r1")])).toMatchObject({
    kind: "unreachable",
    domains: ["rack"],
  });
  expect(checkDecodeReach(pinned, [inRack("b", "r1")])).toMatchObject({
    kind: "unreachable",
    pinFault: "unknown_worker",
    text: "there is no worker a",
  });
});

it("is unreachable when there is no decode worker at all", () => {
  expect(checkDecodeReach(selectionRequest(), [])).toMatchObject({ kind: "unreachable" });
});

it("blames a request that names nobody if decode's mode never chooses", () => {
  const workers = [candidate("a")];

  expect(checkDecodeReach(selectionRequest(), workers, true)).toMatchObject({
    kind: "unreachable",
    pinFault: "pin_required",
  });
  expect(
    checkDecodeReach(selectionRequest({ pin: { workerId: worker("a") } }), workers, true),
  ).toEqual({ kind: "reachable" });
});
