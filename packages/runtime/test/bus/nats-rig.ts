import { actorId, namespaceName, Subjects } from "@baton/protocol";
import type { BusOptions } from "../../src/bus/base-bus.ts";
import { silentLogger } from "../../src/logger.ts";
import { noMetrics } from "../../src/no-metrics.ts";
import { RealClock } from "../../src/real-clock.ts";

export const clock = new RealClock();

/** A bus of an actor called `a`, in real time. */
export const options: BusOptions = {
  id: actorId("a"),
  subjects: new Subjects(namespaceName("default")),
  clock,
  log: silentLogger(),
  metrics: noMetrics,
};

/** Looks until it is so. Throws after ten seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const untilMs = clock.nowMs() + 10_000;
  while (!condition()) {
    if (clock.nowMs() > untilMs) throw new Error("waited too long");
    await clock.sleep(2);
  }
}
