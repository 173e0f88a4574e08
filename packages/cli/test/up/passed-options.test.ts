import { defineOptions } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { passedFlags, passedOptions } from "../../src/up/passed-options.ts";

const options = defineOptions("part", {
  maxThings: z.number().default(3).describe("Most things."),
  names: z.array(z.string()).default([]).describe("Names."),
  secret: z.string().default("").describe("Not for others."),
});
const passed = passedOptions(options, (key) => key !== "secret");

describe("options that are passed on", () => {
  it("are those chosen, under variables without the actor's name", () => {
    expect(passed.fields.map(({ flag, env }) => [flag, env])).toEqual([
      ["max-things", "BATON_MAX_THINGS"],
      ["names", "BATON_NAMES"],
    ]);
  });

  it("are passed on as they were given, and not where nothing was", () => {
    expect(passedFlags(passed, { names: ["a", "b"] }, { BATON_MAX_THINGS: "" })).toEqual({
      names: ["a", "b"],
    });
    expect(passedFlags(passed, { "max-things": 5, secret: "x" }, { BATON_NAMES: "c,d" })).toEqual({
      "max-things": "5",
      names: ["c", "d"],
    });
  });
});
