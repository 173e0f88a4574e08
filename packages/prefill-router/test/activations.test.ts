import type { ClusterView, ModelView, WorkerView } from "@baton/cluster-view";
import { actorId, modelName } from "@baton/protocol";
import { memoryCluster } from "@baton/testing";
import { expect, it } from "vitest";
import { Activations, type RouteDesks } from "../src/activations.ts";
import { viewOf } from "./support/worker-views.ts";

function rig(open: () => void = () => undefined) {
  const cluster = memoryCluster();
  const ctx = cluster.context({ role: "prefill-router", id: "r-1" });
  const models = new Map<string, readonly WorkerView[]>();
  const done: string[] = [];
  const view = {
    models: (): readonly ModelView[] =>
      [...models].map(([name, workers]) => ({
        model: modelName(name),
        catalog: { model: name, ready: true, why: null, sets: [] },
        workers,
      })),
  } as ClusterView;
  const desks: RouteDesks = {
    view,
    listen: (model) => void done.push(`listen ${model}`),
    open: (model) => {
      open();
      done.push(`open ${model}`);
    },
    shut: (model, { code }) => void done.push(`shut ${model} ${code}`),
    retire: (model) => void done.push(`retire ${model}`),
  };
  const activations = new Activations(ctx, desks);
  const follow = async (model: string, workers: readonly WorkerView[] | null) => {
    if (workers === null) models.delete(model);
    else models.set(model, workers);
    activations.follow();
    await cluster.clock.advanceBy(0);
    return done.splice(0);
  };
  return { cluster, activations, follow, done };
}

const pair = [viewOf("p-1"), viewOf("d-1")];

it("listens before it opens a route, and closes it at once", async () => {
  const { activations, follow } = rig();

  expect(await follow("m", pair)).toEqual(["listen m", "open m"]);
  expect(await follow("m", pair)).toEqual([]);
  expect(await follow("m", [viewOf("d-1")])).toEqual(["shut m not_ready"]);
  expect(statesOf(activations)).toEqual({ m: "unavailable" });
});

it("says that the route is being activated when another set takes the place of the first", async () => {
  const { follow } = rig();
  await follow("m", pair);

  const other = [viewOf("p-2", { set: "other" }), viewOf("d-1")];

  expect(await follow("m", other)).toEqual(["shut m prefill_activating", "listen m", "open m"]);
});

it("keeps one route per model, and lets go of a model that is not named any more", async () => {
  const { activations, follow } = rig();
  await follow("m", pair);
  await follow("n", [viewOf("a-1")]);
  expect(statesOf(activations)).toEqual({ m: "active", n: "none" });

  expect(await follow("m", null)).toEqual(["retire m"]);
  expect(statesOf(activations)).toEqual({ n: "none" });
});

it("does not count workers that drain or are lost", async () => {
  const { activations, follow } = rig();

  await follow("m", [viewOf("p-1", { state: "draining" }), viewOf("d-1")]);
  await follow("n", [viewOf("p-1"), viewOf("d-1", { state: "lost" })]);

  expect(statesOf(activations)).toEqual({ m: "none", n: "none" });
});

it("is pending while the bus is gone, and tries again by itself", async () => {
  const { cluster, activations, follow, done } = rig();
  cluster.network.disconnect(actorId("r-1"));
  await follow("m", pair);
  expect(statesOf(activations)).toEqual({ m: "pending" });

  cluster.network.reconnect(actorId("r-1"));
  await cluster.clock.advanceBy(1_000);

  expect(statesOf(activations)).toEqual({ m: "active" });
  expect(done).toEqual(["listen m", "open m"]);
});

it("outlives a desk that fails, and stops without a trace", async () => {
  const { cluster, activations, follow } = rig(() => {
    throw new Error("the bus is closed");
  });
  await follow("m", pair);
  expect(statesOf(activations)).toEqual({ m: "active" });

  activations.stop();

  expect([statesOf(activations), cluster.clock.pendingTimers]).toEqual([{}, 0]);
});

function statesOf(activations: Activations): Readonly<Record<string, string>> {
  return Object.fromEntries(activations.states().map(({ model: name, state }) => [name, state]));
}
