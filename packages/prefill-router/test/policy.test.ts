import type { WorkerView } from "@baton/cluster-view";
import { createRoutingCore, createSelector } from "@baton/kv-router";
import { actorId, Prefill } from "@baton/protocol";
import { routableWorker } from "@baton/routing";
import { routePrefill } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { PrefillPolicy } from "../src/policy.ts";
import { staysInRack, viewOf } from "./support/worker-views.ts";

const inRack = (id: string, rack: string) => viewOf(id, { ...staysInRack, topology: { rack } });
const decodeIn = (id: string, rack: string) => viewOf(id, { topology: { rack } });

function policyOver(...workers: readonly WorkerView[]) {
  const policy = new PrefillPolicy();
  policy.follow(workers);
  const core = createRoutingCore({
    selector: createSelector("random"),
    bookings: { limit: 0, graceMs: 0 },
  });
  core.setWorkers(workers.map(routableWorker));
  return {
    policy,
    narrowed: (request = routePrefill("r1")) =>
      policy.narrow(request, core.candidates("prefill")).map(({ workerId }) => workerId),
    command: (id: string, request = routePrefill("r1")) => {
      const worker = workers.find((candidate) => candidate.id === id);
      if (worker === undefined) throw new Error(`no worker ${id}`);
      const chosen = {
        kind: "selected",
        workerId: worker.id,
        generation: worker.generation,
        dpRank: 0,
        overlapBlocks: 0,
        cachedTokens: 0,
        bestOverlapBlocks: 0,
      } as const;
      const { verb, payload } = policy.command(request, chosen, worker);
      return { verb, message: Prefill.decode(payload) };
    },
  };
}

describe("the pool of prefill workers", () => {
  it("is all of them where KV may go anywhere", () => {
    expect(policyOver(viewOf("p-1"), viewOf("p-2"), viewOf("d-1")).narrowed()).toEqual([
      "p-1",
      "p-2",
    ]);
  });

  it("is those from which a decode worker can be reached", () => {
    const { narrowed } = policyOver(
      inRack("p-1", "r1"),
      inRack("p-2", "r2"),
      decodeIn("d-1", "r2"),
    );

    expect(narrowed()).toEqual(["p-2"]);
  });

  it("counts what the request itself asks of the decode worker", () => {
    const { narrowed } = policyOver(
      inRack("p-1", "r1"),
      inRack("p-2", "r2"),
      decodeIn("d-1", "r1"),
      decodeIn("d-2", "r2"),
    );

    expect(narrowed(routePrefill("r1", { rules: { decodeWorkerId: actorId("d-1") } }))).toEqual([
      "p-1",
    ]);
  });

  it("leaves out a worker whose registration contradicts itself, but not a busy decode worker", () => {
    const { narrowed } = policyOver(
      viewOf("p-1", staysInRack),
      inRack("p-2", "r2"),
      viewOf("d-1", { topology: { rack: "r2" }, capacity: { maxSequences: 0 } }),
    );

    expect(narrowed()).toEqual(["p-2"]);
  });

  it("stays whole when nobody can be reached, so that the refusal can say why", () => {
    const { narrowed } = policyOver(inRack("p-1", "r1"), decodeIn("d-1", "r2"));

    expect(narrowed()).toEqual(["p-1"]);
  });

  it("has the worker that a request is pinned to, so that the refusal says what is wrong with it", () => {
    const { command, narrowed } = policyOver(
      inRack("p-1", "r1"),
      inRack("p-2", "r2"),
      decodeIn("d-1", "r2"),
    );
    const pinned = routePrefill("r1", { rules: { prefillWorkerId: actorId("p-1") } });

    expect(narrowed(pinned)).toEqual(["p-1", "p-2"]);
    expect(() => command("p-1", pinned)).toThrow(
      expect.objectContaining({ code: "no_worker_available" }),
    );
  });

  it("follows a decode worker that drains", () => {
    const { policy, narrowed } = policyOver(
      inRack("p-1", "r1"),
      inRack("p-2", "r2"),
      decodeIn("d-1", "r1"),
      decodeIn("d-2", "r2"),
    );
    expect(narrowed()).toEqual(["p-1", "p-2"]);

    policy.follow([
      inRack("p-1", "r1"),
      inRack("p-2", "r2"),
      viewOf("d-1", { topology: { rack: "r1" }, state: "draining" }),
      decodeIn("d-2", "r2"),
    ]);

    expect(narrowed()).toEqual(["p-2"]);
  });
});

describe("the command for a prefill worker", () => {
  it("tells what the decode worker must satisfy", () => {
    const { command } = policyOver(inRack("p-1", "r1"), decodeIn("d-1", "r1"));

    const { verb, message } = command("p-1");

    expect(verb).toBe("prefill");
    expect(message.decodeConstraints).toEqual({
      requiredTaints: ["baton.topology/rack=r1"],
      preferredTaints: {},
    });
  });

  it("is refused, naming the domain, when no decode worker could take the KV", () => {
    const { command } = policyOver(inRack("p-1", "r1"), decodeIn("d-1", "r2"));

    expect(() => command("p-1")).toThrow(
      expect.objectContaining({
        code: "no_worker_available",
        details: expect.objectContaining({ domains: ["rack"] }),
      }),
    );
  });

  it("is refused for a worker that contradicts itself", () => {
    const { command } = policyOver(viewOf("p-1", staysInRack), decodeIn("d-1", "r1"));

    expect(() => command("p-1")).toThrow(expect.objectContaining({ code: "no_worker_available" }));
  });
});

describe("the rules of a prefill", () => {
  it("are the request's pin and allow-list; its constraints are for the decode leg", () => {
    const { policy } = policyOver();
    const rules = {
      constraints: { requiredTaints: ["gpu"], preferredTaints: {} },
      allowedWorkers: [actorId("p-1")],
      prefillWorkerId: actorId("p-1"),
      decodeWorkerId: actorId("d-1"),
    };

    expect(policy.rules(routePrefill("r1", { rules }))).toEqual({
      allowedWorkers: new Set(["p-1"]),
      pin: { workerId: "p-1" },
    });
    expect(policy.rules(routePrefill("r1"))).toEqual({});
  });

  it("are the request's own settings of the choice as well", () => {
    const { policy } = policyOver();
    const overrides = { routerTemperature: 0.5 };

    expect(policy.rules(routePrefill("r1", { rules: { overrides } }))).toEqual({ overrides });
  });

  it("never take a prefill for staged, and always look at caches", () => {
    const { policy } = policyOver();

    expect([policy.isStaged(), policy.usesKvEvents(), policy.stage(), policy.workerType()]).toEqual(
      [false, true, "prefill", "prefill"],
    );
  });

  it("derive what the next leg must satisfy from the chosen worker's place", () => {
    const { policy } = policyOver(inRack("p-1", "r1"), viewOf("p-2", staysInRack), viewOf("p-3"));
    const next = (id: string) => policy.nextConstraints(actorId(id));

    expect(next("p-1")).toEqual({
      requiredTaints: ["baton.topology/rack=r1"],
      preferredTaints: {},
    });
    expect([next("p-2"), next("p-3")]).toEqual([null, null]);
  });
});
