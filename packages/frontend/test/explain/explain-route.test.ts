import {
  RouteDecode,
  type RouteExplained,
  RouteExplained as RouteExplainedMessage,
  RoutePrefill,
  ServingError,
} from "@baton/protocol";
import { describe, expect, it } from "vitest";
import type { RouteExplanation } from "../../src/explain/route-explanation.ts";
import type { RoutingWish, ServingRequest } from "../../src/request/serving-request.ts";
import type { WorkerSpec } from "../support/fake-view.ts";
import { model, pair, RelayRig } from "../support/relay-rig.ts";
import { candidateOf, routeReply } from "../support/route-replies.ts";

const p1 = candidateOf("p1", { workerType: "prefill" });
const d1 = candidateOf("d1");

/** A rig whose routers say where they would send a request. */
class ExplainRig extends RelayRig {
  readonly askedPrefill: RoutePrefill[] = [];
  readonly askedDecode: RouteDecode[] = [];

  prefill(reply: RouteExplained): this {
    this.peers.subscribe(this.subjects.explainRoute("prefill-router", model), (message) => {
      this.askedPrefill.push(RoutePrefill.decode(message.payload));
      message.respond(RouteExplainedMessage.encode(reply));
    });
    return this;
  }

  decode(reply: RouteExplained): this {
    this.peers.subscribe(this.subjects.explainRoute("decode-router", model), (message) => {
      this.askedDecode.push(RouteDecode.decode(message.payload));
      message.respond(RouteExplainedMessage.encode(reply));
    });
    return this;
  }

  async explain(changes: Partial<ServingRequest> = {}, ms = 10): Promise<RouteExplanation> {
    const pending = this.relay.explain(this.request(changes));
    await this.settle(ms);
    return await pending;
  }
}

function explainRig(workers: readonly WorkerSpec[] = pair): ExplainRig {
  return new ExplainRig(workers);
}

function outcomeOf({ failure }: RouteExplanation): string {
  return failure === null ? "sent on" : `${failure.stage} ${failure.error.code}`;
}

const routing = (wish: Partial<RoutingWish>): { readonly routing: RoutingWish } => ({
  routing: { rules: null, cacheSalt: null, said: {}, ignored: [], ...wish },
});

describe("where a request would go", () => {
  it("is asked of both legs' routers, and nothing is sent", async () => {
    const rig = explainRig()
      .prefill(routeReply([p1]))
      .decode(routeReply([d1]));

    const explanation = await rig.explain();

    expect(explanation).toMatchObject({
      model: "m",
      mode: "disaggregated",
      blockSize: 4,
      failure: null,
      ignored: [],
    });
    expect(explanation.tokens).toHaveLength("prompt".length);
    expect(explanation.legs.map(({ leg, route }) => [leg, route.selected?.workerId])).toEqual([
      ["prefill", "p1"],
      ["decode", "d1"],
    ]);
    expect([rig.routedPrefills, rig.routedDecodes, rig.transitions]).toEqual([[], [], []]);
    expect(rig.table.live.size).toBe(0);
  });

  it("is asked as the real request would ask, with what prefill's topology asks of decode", async () => {
    const derived = { requiredTaints: ["baton.topology/rack=r1"], preferredTaints: {} };
    const rules = {
      session: { id: "s" },
      constraints: { requiredTaints: ["gpu=a"], preferredTaints: { fast: 1 } },
    };
    const rig = explainRig()
      .prefill(routeReply([p1], { decodeConstraints: derived }))
      .decode(routeReply([d1]));

    await rig.explain(routing({ rules }));

    expect(rig.askedPrefill[0]).toMatchObject({ rules, promptTokens: 6 });
    expect(rig.askedPrefill[0]?.work).toHaveLength(0);
    expect(rig.askedDecode[0]).toMatchObject({
      rules: {
        session: { id: "s" },
        constraints: {
          requiredTaints: ["gpu=a", "baton.topology/rack=r1"],
          preferredTaints: { fast: 1 },
        },
      },
      overrides: { overlapScoreCredit: 0, assumeKvReuse: false, trackPrefillTokens: false },
      pool: "decode",
    });
    expect(rig.askedDecode[0]?.handoff).toEqual(new Uint8Array());
  });

  it.each<readonly [string, WorkerSpec, string]>([
    ["aggregated", { id: "a1", type: "aggregated" }, "aggregated"],
    ["decode-only", { id: "d1", type: "decode", needs: [] }, "decode"],
  ])("is one leg's matter where serving is %s", async (mode, worker, pool) => {
    const rig = explainRig([worker]).decode(routeReply([d1]));

    const explanation = await rig.explain();

    expect(explanation.mode).toBe(mode);
    expect(explanation.legs.map(({ leg }) => leg)).toEqual(["decode"]);
    expect(rig.askedDecode[0]).toMatchObject({ pool, handoff: null, overrides: null, rules: null });
  });

  it("is the first refusal, with the candidates of both legs", async () => {
    const nobody = routeReply([{ ...p1, eligible: false, why: "draining" }], {
      selected: null,
      refusal: ["not_ready", "all drain", {}],
    });
    const full = routeReply([d1], { selected: null, refusal: ["no_worker_available", "no", {}] });
    const rig = explainRig().prefill(nobody).decode(full);

    const explanation = await rig.explain();

    expect(outcomeOf(explanation)).toBe("prefill.queued not_ready");
    expect(explanation.failure?.error.message).toBe("all drain");
    expect(explanation.legs).toHaveLength(2);
  });

  it("is an unknown worker's refusal, with the candidates there are", async () => {
    const rig = explainRig()
      .prefill(routeReply([p1]))
      .decode(routeReply([d1]));
    const said = { decodeWorkerId: "baton.decode_worker" };

    const explanation = await rig.explain(
      routing({ rules: { decodeWorkerId: "d9" as never }, said }),
    );

    expect(outcomeOf(explanation)).toBe("preparing unknown_worker");
    expect(explanation.failure?.error.details.param).toBe("baton.decode_worker");
    expect(explanation.legs).toHaveLength(2);
  });

  it("is that the route is not served yet while no PrefillRouter serves it", async () => {
    const rig = explainRig().decode(routeReply([d1]));

    const explanation = await rig.explain();

    expect(outcomeOf(explanation)).toBe("prefill.queued prefill_activating");
    expect(explanation.legs.map(({ leg }) => leg)).toEqual(["decode"]);
  });

  it("is that the model is not ready while no DecodeRouter serves it", async () => {
    expect(
      outcomeOf(
        await explainRig()
          .prefill(routeReply([p1]))
          .explain(),
      ),
    ).toBe("decode.routing not_ready");

    const dead = explainRig().prefill(routeReply([p1]));
    dead.goneRouters.add("decode-router");
    expect(outcomeOf(await dead.explain())).toBe("preparing not_ready");
  });

  it("is that the router is lost if it says nothing", async () => {
    const rig = explainRig().prefill(routeReply([p1]));
    rig.peers.subscribe(rig.subjects.explainRoute("decode-router", model), () => undefined);

    expect(outcomeOf(await rig.explain({}, 2_000))).toBe("decode.routing router_lost");
  });

  it("names every field without effect, once", async () => {
    const rig = explainRig([{ id: "d1", type: "decode", needs: [] }]).decode(
      routeReply([d1], {
        ignored: ["preferred_taints", "overlap_score_credit", "router_temperature"],
      }),
    );

    const explanation = await rig.explain(
      routing({
        rules: { prefillWorkerId: "p1" as never, overrides: { routerTemperature: 0 } },
        said: { prefillWorkerId: "baton.prefill_worker" },
        ignored: ["nvext.agent_hints.priority"],
      }),
    );

    expect(explanation.ignored).toEqual([
      "nvext.agent_hints.priority",
      "baton.prefill_worker",
      "preferred_taints",
      "baton.router.router_temperature",
    ]);
  });

  it("is what stopped the request before it was routed", async () => {
    const rig = explainRig();
    rig.prepare = () => Promise.reject(new ServingError("context_length_exceeded"));

    expect(outcomeOf(await rig.explain())).toBe("preparing context_length_exceeded");
    expect(outcomeOf(await rig.explain({ model: "other" }))).toBe("received model_not_found");
    rig.view.lose("d1");
    expect(outcomeOf(await rig.explain())).toBe("preparing not_ready");
  });

  it("is waited for by a drain, which refuses what comes after", async () => {
    const rig = explainRig()
      .prefill(routeReply([p1]))
      .decode(routeReply([d1]));
    const pending = rig.relay.explain(rig.request());
    let isDrained = false;

    const drained = rig.relay.drain().then(() => {
      isDrained = true;
    });
    expect(outcomeOf(await rig.relay.explain(rig.request()))).toBe("received draining");
    expect(isDrained).toBe(false);
    await rig.settle(10);
    await drained;

    expect(outcomeOf(await pending)).toBe("sent on");
  });
});
