import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createSelector, routerModes, type WorkerCandidate } from "@baton/kv-router";
import { workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createStagePolicy,
  parsePolicyFile,
  policyFileSchema,
  resolvePolicy,
} from "../../src/index.ts";
import { sectionKeys } from "../../src/policy/policy-file-schema.ts";
import { importPolicyModules } from "../../src/policy/policy-modules.ts";

const page = readFileSync(
  fileURLToPath(new URL("../../../../docs/policy-file.md", import.meta.url)),
  "utf8",
);
const code = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";

const candidate = (name: string, overlapBlocks: number): WorkerCandidate => ({
  workerId: workerId(name),
  generation: 1,
  dpRank: 0,
  taints: new Set(),
  draining: false,
  refusesUntilMs: 0,
  requestsInFlight: 0,
  workerRequestsInFlight: 0,
  maxRequestsInFlight: 8,
  activeBlocks: 0,
  totalBlocks: 100,
  overlapBlocks,
  hostOverlapBlocks: 0,
  diskOverlapBlocks: 0,
  bookedBlocks: 0,
  bookedOverlapBlocks: 0,
  activePrefillTokens: 0,
  maxBatchedTokens: null,
  overloaded: false,
});

describe("the page of the policy file", () => {
  const file = parsePolicyFile(example, "policy.yaml");

  it("has an example that is a good policy", () => {
    const policy = resolvePolicy({ routerMode: "least-loaded" }, file);

    expect(policy.stages.prefill.selection).toMatchObject({ name: "by-prefix", mode: "kv" });
    expect(policy.stages.decode.selection).toMatchObject({ mode: "two-tier" });
    expect(policy.stages.aggregated.selection).toMatchObject({ mode: "least-loaded" });
  });

  it("has a policy of one's own that chooses", async () => {
    const policy = resolvePolicy(
      {},
      parsePolicyFile(
        "worker_selection: {decode: a, instances: [{name: a, type: module, module: a.mjs}]}",
        "policy.yaml",
      ),
    );
    const importModule = () => import(`data:text/javascript,${encodeURIComponent(code)}`);
    const modules = await importPolicyModules(policy, "", importModule);
    const selector = createSelector(createStagePolicy(policy.stages.decode, modules));
    const request = {
      nowMs: 0,
      promptTokens: 160,
      promptBlocks: 10,
      blockSize: 16,
      stage: "decode",
    } as const;
    const candidates = [candidate("w1", 0), candidate("w2", 5)];

    expect(selector.select(request, candidates, 0)).toMatchObject({
      kind: "selected",
      workerId: "w2",
    });
  });

  it("has an example with every key", () => {
    const content: Readonly<Record<string, unknown>> = file.content;
    for (const [section, keys] of Object.entries(sectionKeys)) {
      const values = section === "" ? content : content[section];

      expect(Object.keys(values as object).sort()).toEqual([...keys].sort());
    }
  });

  it("has an example with every parameter, and names every mode", () => {
    const schema = JSON.stringify(z.toJSONSchema(policyFileSchema, { io: "input" }));
    const parameters = schema.match(/"(?=\w+_\w+":)\w+/g) ?? [];

    expect(parameters.filter((name) => !example.includes(`${name.slice(1)}:`))).toEqual([]);
    expect(routerModes.filter((mode) => !example.includes(mode))).toEqual([]);
  });
});
