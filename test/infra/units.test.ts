import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { actorRoles } from "@baton/protocol";
import { describe, expect, it } from "vitest";

const folder = fileURLToPath(new URL("../../infra/systemd/", import.meta.url));
const read = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../infra/${path}`, import.meta.url)), "utf8");
const unitOf = (role: string) => `baton-${role === "worker" ? "worker@" : role}.service`;
/** What makes a unit that of its actor. */
const own = /^(?:Description|EnvironmentFile|ExecStart|LoadCredential)=/;

describe("the units of infra/systemd", () => {
  it("are one for each actor", () => {
    expect(readdirSync(folder).sort()).toEqual(actorRoles.map(unitOf).sort());
  });

  it.each(actorRoles)("start %s with its own login", (role) => {
    const lines = read(`systemd/${unitOf(role)}`).split("\n");

    const start = lines.filter((line) => line.startsWith("ExecStart="));
    expect(start).toHaveLength(1);
    expect(start[0]).toMatch(new RegExp(`/baton\\.js ${role}(?: |$)`));
    expect(lines).toContain(`LoadCredential=nats-login:/etc/baton/secrets/${role}.json`);
    expect(lines).toContain(`EnvironmentFile=-/etc/baton/${role}.env`);
  });

  it("differ in nothing else, so that none is less guarded than another", () => {
    const shared = actorRoles.map((role) =>
      read(`systemd/${unitOf(role)}`)
        .split("\n")
        .filter((line) => !own.test(line))
        .join("\n"),
    );

    expect(new Set(shared).size).toBe(1);
    expect(shared[0]).toMatch(/^NoNewPrivileges=yes$/m);
    expect(shared[0]).toMatch(/^ProtectSystem=strict$/m);
  });
});

describe("infra/compose.yaml", () => {
  it.each(actorRoles)("has %s, with its own login", (role) => {
    const text = read("compose.yaml");

    expect(text).toMatch(new RegExp(`command:\\s+\\[${role},`));
    expect(text).toContain(`{ source: ${role}, target: nats-login }`);
    expect(text).toContain(`  ${role}: { file: secrets/${role}.json }`);
  });
});
