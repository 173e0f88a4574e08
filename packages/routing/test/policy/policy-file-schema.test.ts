import { policyParameters, routerModes } from "@baton/kv-router";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { policyFileSchema } from "../../src/index.ts";
import {
  instanceParameters,
  instanceTypes,
  modeOfType,
  sharedParameters,
} from "../../src/policy/policy-file-schema.ts";

describe("types of instances", () => {
  it("are the router modes, Dynamo's names of two of them, and module", () => {
    expect(routerModes.every((mode) => modeOfType(mode) === mode)).toBe(true);
    expect(modeOfType("dynamo-default-cost-fn")).toBe("kv");
    expect(modeOfType("dynamo-two-tier-cost-fn")).toBe("two-tier");
    expect(modeOfType("module")).toBeUndefined();
    expect(instanceTypes).toContain("module");
  });
});

describe("parameters", () => {
  const accepts = (type: string, parameters: Readonly<Record<string, number>>): boolean =>
    policyFileSchema.safeParse({
      worker_selection: { instances: [{ name: "x", type, parameters }] },
    }).success;

  it.each(routerModes)("of %s have the range that the policy gives them", (mode) => {
    for (const { name, min, max } of instanceParameters(mode)) {
      expect(accepts(mode, { [name]: min })).toBe(true);
      expect(accepts(mode, { [name]: min - 0.1 })).toBe(false);
      expect(accepts(mode, { [name]: max ?? 1e9 })).toBe(true);
      if (max !== null) expect(accepts(mode, { [name]: max + 0.1 })).toBe(false);
    }
    expect(accepts(mode, { nonsense: 1 })).toBe(false);
  });

  it("that stand under router for all instances are there with the same range", () => {
    for (const name of sharedParameters) {
      const parameter = policyParameters.kv.find((one) => one.name === name)!;
      const router = (value: number) =>
        policyFileSchema.safeParse({ router: { [name]: value } }).success;

      expect([router(parameter.min), router(parameter.max ?? 1)]).toEqual([true, true]);
      expect([router(parameter.min - 0.1), router((parameter.max ?? 1) + 0.1)]).toEqual([
        false,
        false,
      ]);
    }
  });
});

it("prints as a JSON schema in which every key is described and no other is allowed", () => {
  const schema = z.toJSONSchema(policyFileSchema, { io: "input" });
  const undescribed: string[] = [];
  const visit = (node: z.core.JSONSchema.BaseSchema, path: string): void => {
    if (node.type === "object" && !path.endsWith("parameters")) {
      expect(node.additionalProperties).toBe(false);
    }
    for (const [key, child] of Object.entries(node.properties ?? {})) {
      if (typeof child === "boolean") continue;
      if (child.description === undefined) undescribed.push(`${path}.${key}`);
      visit(child, `${path}.${key}`);
    }
  };
  visit(schema, "");

  expect(undescribed).toEqual([".worker_selection.instances"]);
});
