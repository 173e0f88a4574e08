import { actorRoles } from "@baton/protocol";
import { expect, it } from "vitest";
import { loadDefinition, loadDefinitions } from "../src/definitions.ts";

it("has each role's own definition, one by one and all together", async () => {
  const all = await loadDefinitions();

  expect(Object.keys(all).sort()).toEqual([...actorRoles].sort());
  for (const role of actorRoles) {
    const one = await loadDefinition(role);
    expect(one.role).toBe(role);
    expect(one).toBe(all[role]);
  }
});
