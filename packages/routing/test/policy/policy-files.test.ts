import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSelector } from "@baton/kv-router";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createStagePolicy, diskSources, loadPolicy } from "../../src/index.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-policy-"));
});
afterAll(() => rm(folder, { recursive: true }));

const module = (type: string) =>
  `export const createPolicy = () => ({ type: "${type}", usesCacheData: false });\n`;

describe("the machine's files", () => {
  it("have a stamp that changes with size and with time", async () => {
    const path = join(folder, "stamp.yaml");
    const { stamp } = diskSources.files;
    await writeFile(path, "a");
    await utimes(path, 1, 1);
    const first = await stamp(path);
    await writeFile(path, "ab");
    await utimes(path, 1, 1);
    const larger = await stamp(path);
    await utimes(path, 1, 2);

    expect(new Set([first, larger, await stamp(path)]).size).toBe(3);
    await expect(stamp(join(folder, "absent"))).rejects.toThrow();
  });

  it("give a policy with its module, which is imported anew when the policy file changes", async () => {
    const policyFile = join(folder, "policy.yaml");
    const flags = { policyFile };
    const load = async (type: string, atSecs: number): Promise<string> => {
      await writeFile(join(folder, "mine.mjs"), module(type));
      await writeFile(
        policyFile,
        "worker_selection:\n  decode: a\n  instances: [{name: a, type: module, module: ./mine.mjs}]\n",
      );
      await utimes(policyFile, atSecs, atSecs);
      const { policy, modules } = await loadPolicy(flags, diskSources);
      return createSelector(createStagePolicy(policy.stages.decode, modules)).mode;
    };

    expect(await load("before", 10)).toBe("before");
    expect(await load("after", 20)).toBe("after");
  });
});
