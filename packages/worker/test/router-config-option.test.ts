import { readOptions } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { workerOptions } from "../src/index.ts";

const read = (text?: string, env = {}) =>
  readOptions(workerOptions, {
    flags: text === undefined ? {} : { "router-config": text },
    env,
  }).routerConfig;

describe("--router-config", () => {
  it("is nothing unless it is given", () => {
    expect(read()).toBeUndefined();
  });

  it("is a router configuration as JSON, from the flag or the environment", () => {
    const config = {
      mode: "kv",
      parameters: { router_temperature: 0.5 },
      sessionAffinityTtlSecs: 600,
    };

    expect(read(JSON.stringify(config))).toEqual(config);
    expect(read(undefined, { BATON_WORKER_ROUTER_CONFIG: '{"mode":"random"}' })).toEqual({
      mode: "random",
    });
  });

  it.each([
    ["{mode: kv}", "is not JSON"],
    ["[]", "must be an object"],
    ["{}", "mode"],
    ['{"mode":"fastest"}', "fastest"],
    ['{"mode":"kv","ttl":1}', "ttl"],
    ['{"mode":"kv","parameters":{"router_temperature":-1}}', "router_temperature"],
    ['{"mode":"random","parameters":{"router_temperature":1}}', "router_temperature"],
    ['{"mode":"kv","sessionAffinityTtlSecs":0}', "sessionAffinityTtlSecs"],
  ])("refuses %s", (text, words) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringMatching(new RegExp(`--router-config.*${words}`)),
      }),
    );
  });
});
