import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineOptions, readBothOptions, readOptions } from "../src/index.ts";

const options = defineOptions("decode-router", {
  drainTimeoutMs: z.coerce
    .number()
    .int()
    .min(0)
    .default(25_000)
    .describe("How long a drain may take, ms."),
  routerMode: z.enum(["random", "least-loaded"]).default("least-loaded").describe("How to choose."),
  decodeOnly: z.boolean().default(false).describe("Serve without prefill."),
  topology: z.array(z.string()).default([]).describe("DOMAIN=VALUE."),
  model: z.string().optional().describe("A model."),
});
const nothing = { flags: {}, env: {} };

describe("defineOptions", () => {
  it("gives each option its flag, variable, kind, default and choices", () => {
    expect(
      options.fields.map(({ flag, env, kind, defaultText, choices }) => [
        flag,
        env,
        kind,
        defaultText,
        choices,
      ]),
    ).toEqual([
      ["drain-timeout-ms", "BATON_DECODE_ROUTER_DRAIN_TIMEOUT_MS", "number", "25000", null],
      [
        "router-mode",
        "BATON_DECODE_ROUTER_ROUTER_MODE",
        "text",
        "least-loaded",
        ["random", "least-loaded"],
      ],
      ["decode-only", "BATON_DECODE_ROUTER_DECODE_ONLY", "boolean", "false", null],
      ["topology", "BATON_DECODE_ROUTER_TOPOLOGY", "list", null, null],
      ["model", "BATON_DECODE_ROUTER_MODEL", "text", null, null],
    ]);
  });

  it("leaves the set's name out of the variable when it has none", () => {
    expect(defineOptions("", { port: z.coerce.number().default(8_000) }).fields[0]?.env).toBe(
      "BATON_PORT",
    );
  });
});

describe("readOptions", () => {
  it("takes defaults where nothing is said", () => {
    expect(readOptions(options, nothing)).toEqual({
      drainTimeoutMs: 25_000,
      routerMode: "least-loaded",
      decodeOnly: false,
      topology: [],
    });
  });

  it("takes the flag before the variable before the default", () => {
    const env = {
      BATON_DECODE_ROUTER_DRAIN_TIMEOUT_MS: "5",
      BATON_DECODE_ROUTER_ROUTER_MODE: "random",
    };

    const config = readOptions(options, { flags: { "drain-timeout-ms": "7" }, env });

    expect(config).toMatchObject({ drainTimeoutMs: 7, routerMode: "random" });
  });

  it("reads switches and lists from flags and from variables", () => {
    const fromFlags = readOptions(options, {
      flags: { "decode-only": true, topology: ["rack=1", "zone=a"] },
      env: {},
    });
    const fromEnv = readOptions(options, {
      flags: {},
      env: {
        BATON_DECODE_ROUTER_DECODE_ONLY: "false",
        BATON_DECODE_ROUTER_TOPOLOGY: "rack=1,zone=a",
      },
    });

    expect(fromFlags).toMatchObject({ decodeOnly: true, topology: ["rack=1", "zone=a"] });
    expect(fromEnv).toMatchObject({ decodeOnly: false, topology: ["rack=1", "zone=a"] });
  });

  it("says which option is needed, and its variable", () => {
    const needy = defineOptions("", { nats: z.string().describe("URL.") });
    expect(() => readOptions(needy, nothing)).toThrow("--nats is needed (or BATON_NATS)");
  });

  it.each([
    ["with a default", z.string().default("127.0.0.1")],
    ["without one", z.string().optional()],
    ["that is read further", z.string().transform((text) => [text])],
  ])("takes no empty text for an option %s", (_which, field) => {
    const hosts = defineOptions("", { host: field.describe("Address.") });

    expect(() => readOptions(hosts, { flags: { host: "" }, env: {} })).toThrow(
      '--host: "" is not a value',
    );
  });

  it("names every bad option and where it came from", () => {
    const read = (): unknown =>
      readOptions(options, {
        flags: { "drain-timeout-ms": "soon", "router-mode": "best" },
        env: { BATON_DECODE_ROUTER_DECODE_ONLY: "maybe" },
      });

    expect(read).toThrow(
      /--drain-timeout-ms.*BATON_DECODE_ROUTER_DECODE_ONLY.*--router-mode "best"/s,
    );
    expect(read).toThrow(expect.objectContaining({ code: "config_invalid" }));
  });
});

describe("readBothOptions", () => {
  const port = defineOptions("", { port: z.number().int().default(1).describe("A port.") });

  it("gives both configurations", () => {
    expect(readBothOptions(options, port, { flags: { port: "7" }, env: {} })).toMatchObject([
      { decodeOnly: false },
      { port: 7 },
    ]);
  });

  it("names the bad options of both sets", () => {
    const flags = { "drain-timeout-ms": "soon", port: "abc" };

    expect(() => readBothOptions(options, port, { flags, env: {} })).toThrow(
      /--drain-timeout-ms.*--port/s,
    );
  });
});
