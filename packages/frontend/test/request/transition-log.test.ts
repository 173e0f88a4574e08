import { modelName, RequestTransitions, requestId } from "@baton/protocol";
import { memoryCluster } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { TransitionLog } from "../../src/request/transition-log.ts";

function rig(batchMax = 10) {
  const cluster = memoryCluster();
  const context = cluster.context({ role: "frontend", id: "f1" });
  const batches: string[][] = [];
  let dropped = 0;
  cluster.bus("watcher").subscribe(cluster.subjects.requestTransitionsAll(), ({ payload }) => {
    batches.push(
      RequestTransitions.decode(payload).transitions.map(([id, state]) => `${id} ${state}`),
    );
  });
  const log = new TransitionLog(
    { batchMs: 5, batchMax },
    {
      ...context,
      dropped: {
        add: (amount = 1) => {
          dropped += amount;
        },
      },
      subject: (model) => cluster.subjects.requestTransitions(model),
    },
  );
  const add = (model: string, id: string) =>
    log.add(modelName(model), [requestId(id), "received", 0, {}]);
  return { add, batches, cluster, dropped: () => dropped, log };
}

describe("the log of transitions", () => {
  it("publishes one message a model, 5 ms after the first", async () => {
    const { add, batches, cluster } = rig();
    add("m", "r1");
    await cluster.clock.advanceBy(4);
    add("m", "r2");
    add("other", "r3");
    expect(batches).toEqual([]);

    await cluster.clock.advanceBy(2);

    expect(batches).toEqual([["r1 received", "r2 received"], ["r3 received"]]);
  });

  it("drops and counts what is too much", async () => {
    const { add, batches, cluster, dropped } = rig(2);

    for (const id of ["r1", "r2", "r3"]) add("m", id);
    await cluster.clock.advanceBy(10);

    expect(batches).toEqual([["r1 received", "r2 received"]]);
    expect(dropped()).toBe(1);
  });

  it("drops and counts while the bus is gone, and says nothing late", async () => {
    const { add, batches, cluster, dropped } = rig();
    cluster.network.disconnect("f1" as Parameters<typeof cluster.network.disconnect>[0]);
    add("m", "r1");
    await cluster.clock.advanceBy(10);

    cluster.network.reconnect("f1" as Parameters<typeof cluster.network.reconnect>[0]);
    await cluster.clock.advanceBy(10);

    expect(batches).toEqual([]);
    expect(dropped()).toBe(1);
  });

  it("leaves no timer behind", async () => {
    const { add, cluster, log } = rig();
    add("m", "r1");

    log.flush();
    await cluster.clock.advanceBy(10);

    expect(cluster.clock.pendingTimers).toBe(0);
  });
});
