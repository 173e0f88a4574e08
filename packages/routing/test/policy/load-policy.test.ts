import { describe, expect, it } from "vitest";
import { loadPolicy } from "../../src/index.ts";
import { FakeSources } from "../support/policy-sources.ts";

const flags = { policyFile: "/etc/baton/policy.yaml" };

describe("loading a policy", () => {
  it("needs no file", async () => {
    const loaded = await loadPolicy({ routerMode: "random" }, new FakeSources());

    expect(loaded.policy.stages.decode.selection).toMatchObject({ mode: "random" });
    expect(loaded.stamp).toBeNull();
  });

  it("reads the file, imports what it names, and says what it was", async () => {
    const sources = new FakeSources();
    sources.write(
      flags.policyFile,
      "worker_selection: {decode: a, instances: [{name: a, type: module, module: a.mjs}]}",
    );
    const createPolicy = () => ({ type: "a", usesCacheData: false });
    sources.modules.set("/etc/baton/a.mjs", { createPolicy });
    const loaded = await loadPolicy(flags, sources);

    expect(loaded.stamp).toBe("stamp-1");
    expect([...loaded.modules]).toEqual([["/etc/baton/a.mjs", createPolicy]]);
    expect(sources.imported).toEqual(["/etc/baton/a.mjs stamp-1"]);
  });

  it("says which file cannot be read", async () => {
    await expect(loadPolicy(flags, new FakeSources())).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringMatching(/^\/etc\/baton\/policy\.yaml: .*cannot be read/),
    });
  });
});
