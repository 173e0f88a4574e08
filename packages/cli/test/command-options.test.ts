import { defineOptions, readOptions } from "@baton/runtime";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { addOptions, givenFlags } from "../src/command-options.ts";

const options = defineOptions("", {
  adminPort: z.number().default(0).describe("A port."),
  decodeOnly: z.boolean().default(false).describe("A switch."),
  topology: z.array(z.string()).default([]).describe("A list."),
});

function parse(...args: readonly string[]): Readonly<Record<string, unknown>> {
  const command = addOptions(new Command().exitOverride(), options);
  command.parse(args, { from: "user" });
  return givenFlags(command);
}

describe("addOptions", () => {
  it("gives the flags that were typed, by name, and nothing else", () => {
    expect(
      parse("--admin-port", "9", "--decode-only", "--topology", "rack=1", "--topology", "zone=a"),
    ).toEqual({
      "admin-port": "9",
      "decode-only": true,
      topology: ["rack=1", "zone=a"],
    });
    expect(parse()).toEqual({});
  });

  it("lets a switch be turned off that is not off by itself", () => {
    const events = defineOptions("", { useKvEvents: z.boolean().optional().describe("Events.") });
    const read = (...args: readonly string[]) => {
      const command = addOptions(new Command().exitOverride(), events);
      command.parse(args, { from: "user" });
      return readOptions(events, { flags: givenFlags(command), env: {} }).useKvEvents;
    };

    expect(read("--use-kv-events", "false")).toBe(false);
    expect(read("--use-kv-events=false")).toBe(false);
    expect(read("--use-kv-events")).toBe(true);
    expect(read()).toBeUndefined();
  });

  it("lets the environment come between flag and default", () => {
    expect(readOptions(options, { flags: parse(), env: { BATON_ADMIN_PORT: "7" } }).adminPort).toBe(
      7,
    );
  });

  it("adds an option once, whichever set brings it first", () => {
    const command = addOptions(addOptions(new Command(), options), options);

    expect(command.options.map(({ long }) => long)).toEqual([
      "--admin-port",
      "--decode-only",
      "--topology",
    ]);
  });

  it("shows meaning, default and variable in the help", () => {
    expect(addOptions(new Command(), options).helpInformation()).toMatch(
      /A port\. \(default 0; BATON_ADMIN_PORT\)/,
    );
  });
});
