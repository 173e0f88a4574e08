import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Activation,
  activationTarget,
  bindingBuilt,
  initialActivation,
  reportedActivation,
  routeOf,
  setTarget,
  targetToBuild,
} from "../../src/index.ts";
import { workerSet } from "../support.ts";

describe("activationTarget", () => {
  const prefill = workerSet("prefill", { set: "p" });
  const decode = workerSet("decode");

  it("is the prefill set when it and one decode set live, in any order", () => {
    const target = { kind: "target", key: "p", prefill, decode };

    expect(activationTarget([prefill, decode])).toEqual(target);
    expect(activationTarget([decode, prefill])).toEqual(target);
  });

  it("does not count workers of a set, aggregated sets, or sets without a live worker", () => {
    const crowd = workerSet("prefill", { set: "p", live: 9 });
    const dead = workerSet("prefill", { set: "old", live: 0 });

    expect(activationTarget([crowd, decode, dead, workerSet("aggregated")])).toMatchObject({
      kind: "target",
      key: "p",
    });
  });

  it.each([
    { sets: [], prefillSets: 0, decodeSets: 0 },
    { sets: [prefill], prefillSets: 1, decodeSets: 0 },
    { sets: [decode], prefillSets: 0, decodeSets: 1 },
    { sets: [prefill, workerSet("prefill"), decode], prefillSets: 2, decodeSets: 1 },
    { sets: [prefill, decode, workerSet("decode", { set: "d2" })], prefillSets: 1, decodeSets: 2 },
    { sets: [prefill, workerSet("decode", { live: 0 })], prefillSets: 1, decodeSets: 0 },
  ])("is none with $prefillSets prefill and $decodeSets decode sets", ({ sets, ...counts }) => {
    expect(activationTarget(sets)).toEqual({ kind: "none", ...counts });
  });
});

describe("the table of setTarget", () => {
  const active: Activation = { phase: "active", target: "p", binding: "p" };
  const unavailable: Activation = { phase: "unavailable", target: undefined, binding: "p" };
  const pending: Activation = { phase: "pending", target: "p", binding: undefined };

  it.each([
    { row: "the same target changes nothing", from: active, to: "p", next: active },
    {
      row: "none makes it unavailable and keeps the binding",
      from: active,
      to: undefined,
      next: unavailable,
    },
    {
      row: "the kept binding's target is active at once",
      from: unavailable,
      to: "p",
      next: active,
    },
    {
      row: "another target drops the binding and is pending",
      from: active,
      to: "q",
      next: { phase: "pending", target: "q", binding: undefined } as const,
    },
    {
      row: "another target after none drops it too",
      from: unavailable,
      to: "q",
      next: { phase: "pending", target: "q", binding: undefined } as const,
    },
    {
      row: "none while a binding is built forgets the build",
      from: pending,
      to: undefined,
      next: { phase: "unavailable", target: undefined, binding: undefined } as const,
    },
    {
      row: "none on a fresh route changes nothing",
      from: initialActivation,
      to: undefined,
      next: initialActivation,
    },
  ])("$row", ({ from, to, next }) => {
    expect(setTarget(from, to)).toEqual(next);
  });
});

it("goes pending, active, unavailable and back as workers come, go and return", () => {
  const pending = setTarget(initialActivation, "p");
  expect([routeOf(initialActivation), routeOf(pending), targetToBuild(pending)]).toEqual([
    "decode",
    "prefill_activating",
    "p",
  ]);

  const active = bindingBuilt(pending, "p");
  expect([routeOf(active), targetToBuild(active)]).toEqual(["prefill", undefined]);

  const gone = setTarget(active, undefined);
  expect([routeOf(gone), targetToBuild(gone)]).toEqual(["decode", undefined]);
  expect(routeOf(setTarget(gone, "p"))).toBe("prefill");
});

it("ignores a binding built for a target that nobody wants any more", () => {
  const pending = setTarget(setTarget(initialActivation, "p"), "q");
  const gone = setTarget(pending, undefined);

  expect(bindingBuilt(pending, "p")).toBe(pending);
  expect(bindingBuilt(gone, "q")).toBe(gone);
});

it("is active exactly while the target's own binding stands, whatever happened", () => {
  const key = fc.constantFrom("p", "q");
  const events = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant("target" as const), key: fc.option(key, { nil: undefined }) }),
      fc.record({ do: fc.constant("built" as const), key }),
    ),
  );
  fc.assert(
    fc.property(events, (taken) => {
      let activation = initialActivation;
      let wanted: string | undefined;
      for (const event of taken) {
        if (event.do === "target") wanted = event.key;
        activation =
          event.do === "target"
            ? setTarget(activation, event.key)
            : bindingBuilt(activation, event.key);
        const { phase, target, binding } = activation;
        expect(target).toBe(wanted);
        expect(phase === "active").toBe(target !== undefined && binding === target);
        expect(targetToBuild(activation)).toBe(phase === "pending" ? target : undefined);
      }
    }),
  );
});

it("is reported as none until there is a decode set or has been a target", () => {
  const unavailable = setTarget(setTarget(initialActivation, "p"), undefined);

  expect(reportedActivation(initialActivation, [workerSet("aggregated")])).toBe("none");
  expect(reportedActivation(initialActivation, [workerSet("prefill")])).toBe("none");
  expect(reportedActivation(initialActivation, [workerSet("decode", { live: 0 })])).toBe("pending");
  expect(reportedActivation(unavailable, [])).toBe("unavailable");
});
