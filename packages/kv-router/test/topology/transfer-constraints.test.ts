import { expect, it } from "vitest";
import { deriveTransferConstraints, type TransferFacts } from "../../src/index.ts";

const topology = { rack: "r1", zone: "z1" };
const rule = (kvTransfer: TransferFacts["kvTransfer"]): TransferFacts => ({ topology, kvTransfer });
const required = rule({ domain: "rack", enforcement: "required" });
const preferred = rule({ domain: "rack", enforcement: "preferred", preferredWeight: 0.85 });
const free = rule(null);

it("constrains nothing when nothing is known of the set", () => {
  expect(deriveTransferConstraints(undefined, [])).toEqual({ kind: "unconstrained" });
});

it("fails for an unknown worker when another of its set requires a domain", () => {
  expect(deriveTransferConstraints(undefined, [free, required])).toMatchObject({
    kind: "error",
    fault: "worker_facts_missing",
  });
});

it("constrains nothing for an unknown worker when none of its set requires a domain", () => {
  expect(deriveTransferConstraints(undefined, [free, preferred])).toEqual({
    kind: "unconstrained",
  });
});

it("constrains nothing for a worker without a transfer domain", () => {
  expect(deriveTransferConstraints(free, [free, required])).toEqual({ kind: "unconstrained" });
});

it("requires the worker's place in its transfer domain, and in no other", () => {
  expect(deriveTransferConstraints(required, [required])).toEqual({
    kind: "constrained",
    domain: "rack",
    value: "r1",
    constraints: { requiredTaints: ["baton.topology/rack=r1"], preferredTaints: {} },
  });
});

it("prefers the place with the worker's weight, 0 included", () => {
  expect(deriveTransferConstraints(preferred, [])).toMatchObject({
    constraints: { requiredTaints: [], preferredTaints: { "baton.topology/rack=r1": 0.85 } },
  });
  expect(
    deriveTransferConstraints(
      rule({ domain: "rack", enforcement: "preferred", preferredWeight: 0 }),
      [],
    ),
  ).toMatchObject({ constraints: { preferredTaints: { "baton.topology/rack=r1": 0 } } });
});

it.each([
  { fault: "domain_unknown", kvTransfer: { domain: "row", enforcement: "required" as const } },
  {
    fault: "domain_unknown",
    kvTransfer: { domain: "toString", enforcement: "required" as const },
  },
  { fault: "enforcement_missing", kvTransfer: { domain: "rack" } },
  { fault: "enforcement_missing", kvTransfer: { domain: "rack", enforcement: null } },
  { fault: "weight_missing", kvTransfer: { domain: "rack", enforcement: "preferred" as const } },
  {
    fault: "weight_missing",
    kvTransfer: { domain: "rack", enforcement: "preferred" as const, preferredWeight: null },
  },
  {
    fault: "weight_missing",
    kvTransfer: { domain: "rack", enforcement: "preferred" as const, preferredWeight: Number.NaN },
  },
])("fails with $fault for $kvTransfer", ({ fault, kvTransfer }) => {
  expect(deriveTransferConstraints(rule(kvTransfer), [])).toMatchObject({ kind: "error", fault });
});
