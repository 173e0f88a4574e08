import { expect, it } from "vitest";
import { selectionRules } from "../../src/index.ts";
import { worker } from "../support.ts";

const constraints = { requiredTaints: ["gpu"], preferredTaints: {} };
const rules = {
  constraints,
  allowedWorkers: [worker("p"), worker("d")],
  prefillWorkerId: worker("p"),
  prefillDpRank: 1,
  decodeWorkerId: worker("d"),
};

it("gives each leg its own pin and both the rest", () => {
  const allowedWorkers = new Set(["p", "d"]);

  expect(selectionRules(rules, "prefill")).toEqual({
    constraints,
    allowedWorkers,
    pin: { workerId: "p", dpRank: 1 },
  });
  expect(selectionRules(rules, "decode")).toEqual({
    constraints,
    allowedWorkers,
    pin: { workerId: "d" },
  });
});

it("keeps a rank that has no worker, so that selection can refuse it", () => {
  expect(selectionRules({ decodeDpRank: 2 }, "decode")).toEqual({ pin: { dpRank: 2 } });
});

it("asks for nothing without rules", () => {
  expect(selectionRules(null, "decode")).toEqual({});
  expect(selectionRules({}, "prefill")).toEqual({});
});
