import { expect, it } from "vitest";
import { describeWith } from "../support/processes/index.ts";
import { runSoak } from "../support/soak/soak-run.ts";

// The small brother of `npm run soak`. Some starts of workers are in it.
const timeoutMs = 180_000;

describeWith(["nats"], "a cluster under mixed load whose workers are killed", () => {
  it("ends every request once and holds nothing afterwards", { timeout: timeoutMs }, async () => {
    const { cancelledIn, clientEnds, kills, violations } = await runSoak({
      seed: 1,
      requests: 300,
      inFlight: 32,
      workers: 2,
      leavingShare: 1 / 3,
      killedShare: 0.1,
      samples: 0,
      restMs: 100,
    });

    expect(violations).toEqual([]);
    expect(kills).toBeGreaterThan(0);
    expect(clientEnds.get("completed")).toBeGreaterThan(0);
    expect(cancelledIn.size).toBeGreaterThan(4);
  });
});
