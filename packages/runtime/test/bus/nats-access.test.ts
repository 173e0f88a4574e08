import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readNatsAccess } from "../../src/bus/nats-access.ts";

describe("readNatsAccess", () => {
  const folder = mkdtempSync(join(tmpdir(), "baton-access-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("asks for nothing that no option names", () => {
    expect(readNatsAccess({ nats: "nats://h:1" })).toEqual({ url: "nats://h:1" });
  });

  it("reads the login from its file", () => {
    const natsCreds = join(folder, "login.json");
    writeFileSync(natsCreds, '{"token": "t"}');

    const { credentials } = readNatsAccess({ nats: "nats://h:1", natsCreds });

    expect(credentials?.("")).toEqual({ auth_token: "t" });
  });

  it("refuses what cannot be read, naming the option", () => {
    const none = join(folder, "none");
    for (const [key, flag] of [
      ["natsCreds", "--nats-creds"],
      ["natsCa", "--nats-ca"],
    ] as const) {
      expect(() => readNatsAccess({ nats: "nats://h:1", [key]: none })).toThrow(
        expect.objectContaining({
          code: "config_invalid",
          message: expect.stringContaining(flag),
        }),
      );
    }
  });
});
