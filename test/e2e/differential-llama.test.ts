import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeTinyGguf } from "../../packages/worker/scripts/make-tiny-gguf.ts";
import { compareWays } from "../support/differential/compare.ts";
import { planBodies } from "../support/differential/planned-body.ts";
import {
  type Cluster,
  describeWith,
  startCluster,
  workerSpec,
} from "../support/processes/index.ts";

const requests = 60;
const timeoutMs = 180_000;
// Several prompts of one body would be computed in one batch.
const bounds = {
  mostTokens: 24,
  mostChoices: 2,
  mostPrompts: 1,
  knownIds: 600,
  biasesGrammars: true,
};
/** What the last digits of floats may be apart by. */
const tolerance = 1e-5;

describeWith(["nats", "llama"], "the llama engine, one request at a time", () => {
  let folder: string;
  let cluster: Cluster;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "baton-e2e-"));
    const model = join(folder, "tiny.gguf");
    await writeFile(model, makeTinyGguf());
    cluster = await startCluster({
      engine: "llama",
      model: "relayed",
      flags: { model },
      also: [workerSpec("aggregated", "aggregated-0", "alone", { engine: "llama", model })],
    });
  });
  afterAll(async () => {
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it(
    "answers alike with and without disaggregation, streamed or not, whatever is asked for",
    async () => {
      const planned = planBodies(bounds, 7, requests);
      const differences: string[] = [];
      for (const [index, one] of planned.entries()) {
        const compared = await compareWays(
          {
            api: cluster.api,
            relayed: "relayed",
            alone: "alone",
            tolerance,
            // The first answers find nothing in a cache, and the others what those have left.
            saltOf: (asked) => (asked === null ? `stops of ${index}` : `${index}`),
          },
          one,
        );
        differences.push(...compared.differences);
        // A worker that still works on one would compute the next in another batch.
        await cluster.untilIdle();
      }

      expect(differences).toEqual([]);
    },
    timeoutMs,
  );
});
