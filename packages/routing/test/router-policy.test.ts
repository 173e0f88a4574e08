import { RouteDecode } from "@baton/protocol";
import { memoryCluster, routeDecode } from "@baton/testing";
import { describe, expect, it } from "vitest";
import type { PolicyFlags } from "../src/policy/policy-options.ts";
import { Router } from "../src/router.ts";
import { limits, linesOf, listenAs, model, plainPolicy } from "./support/desk-rig.ts";
import { FakeView, workerView } from "./support/fake-view.ts";
import { FakeSources } from "./support/policy-sources.ts";

const policyFile = "/etc/baton/policy.yaml";
const mode = (type: string) =>
  `worker_selection: {decode: own, instances: [{name: own, type: ${type}}]}\n`;
const two = [workerView("w-1"), workerView("w-2")];

/** A router whose policy is in a file, and which waits for the disk as long as the test lets it. */
function routerRig(text: string | null, flags: PolicyFlags = {}, workers = two) {
  const cluster = memoryCluster();
  const view = new FakeView(workers);
  const ctx = cluster.context({ role: "decode-router", id: "d-1" });
  const lines = linesOf(cluster);
  for (const { id } of two) listenAs(cluster, id);
  const sources = new FakeSources();
  if (text !== null) sources.write(policyFile, text);
  const subscribed: string[] = [];
  cluster.network.observe(({ subject }) => void subscribed.push(subject));
  const router = new Router<RouteDecode>(
    ctx,
    { ...limits, ...flags, ...(text === null ? {} : { policyFile }) },
    {
      message: RouteDecode,
      workerRole: "decode",
      workerTypes: plainPolicy.workerTypes,
      policy: () => ({ ...plainPolicy, usesKvEvents: (workerType) => workerType === "decode" }),
      sources,
      onChange: () => undefined,
    },
    view,
  );
  const frontend = cluster.bus("f-1");
  const bounced: string[] = [];
  frontend.onUndeliverable((key) => void bounced.push(key));
  const { clock, subjects } = cluster;
  let asked = 0;
  return {
    cluster,
    ctx,
    view,
    router,
    sources,
    bounced,
    /** Where the next request goes; undefined if nobody takes it. */
    ask: async () => {
      asked += 1;
      const id = `r${asked}`;
      const subject = subjects.route("decode-router", model);
      frontend.publish(subject, RouteDecode.encode(routeDecode(id)), { bounceKey: id });
      await clock.advanceBy(0);
      return lines
        .splice(0)
        .find((line) => line.startsWith("booked"))
        ?.split(" ")[2];
    },
    serve: async () => {
      await router.start();
      router.open(model);
      router.onState("ready");
    },
    reloads: async (outcome: string) => {
      const page = await cluster.metrics.text();
      const line = new RegExp(`policy_reloads_total\\{.*outcome="${outcome}"\\} (\\d+)`).exec(page);
      return Number(line?.[1] ?? 0);
    },
  };
}

describe("the policy of a router", () => {
  it("is the file's, and the next one's from the choice after it on", async () => {
    const rig = routerRig(mode("round-robin"));
    await rig.serve();
    const before = [await rig.ask(), await rig.ask(), await rig.ask(), await rig.ask()];
    expect(new Set(before)).toEqual(new Set(["w-1", "w-2"]));
    expect([before[0], before[1]]).toEqual([before[2], before[3]]);

    rig.sources.write(policyFile, mode("direct"));
    expect(await rig.ask()).toBeDefined();
    await rig.cluster.clock.advanceBy(1_000);

    expect(await rig.ask()).toBeUndefined();
    expect(await rig.reloads("taken")).toBe(1);
  });

  it("stays as it is when the file turns bad, which is counted once", async () => {
    const rig = routerRig(mode("round-robin"));
    await rig.serve();

    rig.sources.write(policyFile, mode("telepathy"));
    await rig.cluster.clock.advanceBy(5_000);

    expect(await rig.ask()).toBeDefined();
    expect([await rig.reloads("taken"), await rig.reloads("refused")]).toEqual([0, 1]);
  });

  it("holds for models that come later as well", async () => {
    const rig = routerRig(mode("direct"));
    await rig.router.start();
    rig.sources.write(policyFile, mode("random"));
    await rig.cluster.clock.advanceBy(1_000);

    rig.router.open(model);
    rig.router.onState("ready");

    expect(await rig.ask()).toBeDefined();
  });

  it("must be good at the start", async () => {
    await expect(routerRig(mode("telepathy")).router.start()).rejects.toMatchObject({
      code: "config_invalid",
    });
  });

  it("is not watched by a router that has stopped, nor anything else, also if it stops at the start", async () => {
    const rig = routerRig(mode("random"));
    const started = rig.router.start();
    rig.router.stop();
    await started;
    expect(rig.cluster.clock.pendingTimers).toBe(0);

    const other = routerRig(mode("random"));
    await other.serve();
    await other.ask();
    other.router.stop();
    expect(other.cluster.clock.pendingTimers).toBe(0);
  });
});

describe("a router that is to have so many workers at first", () => {
  it("serves a model from when it has them, and goes on when it has fewer", async () => {
    const rig = routerRig(null, { routerMode: "random", minInitialWorkers: 2 }, two.slice(0, 1));
    await rig.serve();
    expect([await rig.ask(), rig.bounced]).toEqual([undefined, ["r1"]]);

    rig.view.set(
      workerView("w-2", { state: "draining" }),
      workerView("p-1", { workerType: "prefill" }),
    );
    rig.view.tellChange();
    expect(await rig.ask()).toBeUndefined();
    rig.view.set(workerView("w-2"));
    rig.view.tellChange();
    expect(await rig.ask()).toBeDefined();

    rig.view.tellLoss(rig.view.lose("w-2"));
    expect(await rig.ask()).toBe("w-1");
  });

  it("serves at once when the number is lowered", async () => {
    const file = (least: number) => `router: {router_min_initial_workers: ${least}}`;
    const rig = routerRig(file(3));
    await rig.serve();
    expect(await rig.ask()).toBeUndefined();

    rig.sources.write(policyFile, file(2));
    await rig.cluster.clock.advanceBy(1_000);

    expect(await rig.ask()).toBeDefined();
  });
});

describe("the KV feed of a router", () => {
  const positionsAsked = (rig: ReturnType<typeof routerRig>) => {
    const asked: string[] = [];
    const subject = rig.cluster.subjects.getKvPositions(model);
    rig.cluster.network.observe((message) => {
      if (message.subject === subject) asked.push(subject);
    });
    return asked;
  };

  it("is followed while the policy looks at caches, and ends with the router", async () => {
    const rig = routerRig(mode("kv"));
    const asked = positionsAsked(rig);
    await rig.serve();
    rig.view.tellChange();
    await rig.cluster.clock.advanceBy(2_000);
    expect(asked.length).toBeGreaterThan(0);

    rig.sources.write(policyFile, mode("random"));
    await rig.cluster.clock.advanceBy(2_000);
    asked.length = 0;
    await rig.cluster.clock.advanceBy(10_000);
    expect(asked).toEqual([]);

    rig.sources.write(policyFile, mode("two-tier"));
    await rig.cluster.clock.advanceBy(2_000);
    expect(asked.length).toBeGreaterThan(0);
    rig.router.stop();
    await rig.cluster.clock.advanceBy(2_000);
    expect(rig.cluster.clock.pendingTimers).toBe(0);
  });

  it("ends with a model that is gone", async () => {
    const rig = routerRig(mode("kv"));
    const asked = positionsAsked(rig);
    await rig.serve();
    rig.view.tellChange();

    rig.router.retire(model);
    await rig.cluster.clock.advanceBy(2_000);
    asked.length = 0;
    await rig.cluster.clock.advanceBy(10_000);

    expect(asked).toEqual([]);
  });
});
