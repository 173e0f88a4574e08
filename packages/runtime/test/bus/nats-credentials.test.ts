import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nkeys } from "nats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readNatsCredentials } from "../../src/bus/nats-credentials.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "baton-creds-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(content: string): string {
  const path = join(folder, "creds");
  writeFileSync(path, content);
  return path;
}

describe("readNatsCredentials", () => {
  it("reads user and password, and a token, from JSON", () => {
    const user = readNatsCredentials(file('{"user": "u", "password": "p"}'));
    const token = readNatsCredentials(file('{"token": "t"}'));

    expect(user()).toEqual({ user: "u", pass: "p" });
    expect(token()).toEqual({ auth_token: "t" });
  });

  it("signs with an nkey from JSON, and with a NATS creds file", () => {
    const key = nkeys.createUser();
    const seed = new TextDecoder().decode(key.getSeed());
    const creds = [
      "-----BEGIN NATS USER JWT-----",
      "eyJ.eyJ.sig",
      "------END NATS USER JWT------",
      "",
      "-----BEGIN USER NKEY SEED-----",
      seed,
      "------END USER NKEY SEED------",
    ].join("\n");

    const byKey = readNatsCredentials(file(JSON.stringify({ nkey: seed })))("nonce");
    const byFile = readNatsCredentials(file(creds))("nonce");

    expect(byKey).toMatchObject({ nkey: key.getPublicKey(), sig: expect.any(String) });
    expect(byFile).toMatchObject({ jwt: "eyJ.eyJ.sig", sig: expect.any(String) });
  });

  it("refuses anything else and shows nothing of it", () => {
    for (const content of ['{"user": "u"}', '{"secret": "hush"}', "hush"]) {
      expect(() => readNatsCredentials(file(content))).toThrow(
        expect.objectContaining({
          code: "config_invalid",
          message: expect.not.stringContaining("hush"),
        }),
      );
    }
    expect(() => readNatsCredentials(join(folder, "none"))).toThrow(
      expect.objectContaining({ code: "config_invalid" }),
    );
  });
});
