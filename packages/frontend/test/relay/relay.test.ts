import {
  type RoutingConstraints,
  type RoutingRules,
  ServingError,
  workerId,
} from "@baton/protocol";
import { describe, expect, it } from "vitest";
import type { RoutingWish } from "../../src/request/serving-request.ts";
import { endOf, entryOf, pair, RelayRig, type Submitted } from "../support/relay-rig.ts";

describe("a relayed request", () => {
  it("goes through prefill, handoff and decode and gives out the decode worker's text", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);

    rig.frame("d1", [entryOf(one, "Hel", 0)]);
    await rig.settle();
    rig.frame("d1", [entryOf(one, "lo", 3, endOf("stop"))]);
    await rig.settle(10);

    expect(one.sink.text()).toBe("Hello");
    expect(one.sink.outcome()).toBe("completed");
    expect(one.sink.deltas.at(-1)?.finishReason).toBe("stop");
    expect(rig.statesOf(one)).toEqual([
      "received",
      "preparing",
      "prefill.queued",
      "prefill.running",
      "decode.routing",
      "handoff",
      "decode.streaming",
      "completed",
    ]);
    expect(rig.cleanups).toEqual([]);
    expect(rig.table.live.size).toBe(0);
  });

  it("keeps its staged KV leased while its decode leg waits, and no longer", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toDecodeRouting(one);

    await rig.settle(1_500);
    expect(rig.extended).toEqual(["p1 r1", "p1 r1"]);

    rig.dispatched(one, "decode", "d1");
    await rig.settle(800);
    expect(rig.extended).toHaveLength(3);

    rig.frame("d1", [entryOf(one, "A", 0)]);
    await rig.settle(2_000);
    expect(rig.extended).toHaveLength(3);
  });

  it("says at its end how it was served", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);
    rig.frame("d1", [entryOf(one, "Hello", 0, endOf("length", 99))]);
    await rig.settle();

    const [end] = one.sink.ends;

    expect(end).toMatchObject({
      kind: "completed",
      summary: {
        mode: "disaggregated",
        prefillWorker: "p1",
        decodeWorker: "d1",
        promptTokens: 6,
        cachedTokens: 4,
        outputTokens: 5,
      },
    });
    expect(Object.keys(end?.summary?.timingMs ?? {})).toEqual([
      "received",
      "preparing",
      "prefill.queued",
      "prefill.running",
      "decode.routing",
      "handoff",
      "decode.streaming",
    ]);
  });

  it("asks for decode with the ticket, the derived constraints and the three overrides", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    const decodeConstraints: RoutingConstraints = {
      requiredTaints: ["baton.topology/rack=r1"],
      preferredTaints: {},
    };
    await rig.toPrefillRunning(one);

    rig.prefilled(one, { decodeConstraints });
    await rig.settle();

    expect(rig.routedDecodes).toHaveLength(1);
    expect(rig.routedDecodes[0]).toMatchObject({
      pool: "decode",
      rules: { constraints: decodeConstraints },
      overrides: { overlapScoreCredit: 0, assumeKvReuse: false, trackPrefillTokens: false },
    });
    expect(rig.routedDecodes[0]?.handoff).not.toBeNull();
  });

  it("completes without decode when prefill ends the generation, and releases the KV", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    rig.prefilled(one, { finishReasons: ["length"] });
    await rig.settle(10);

    expect(one.sink.text()).toBe("A");
    expect(one.sink.outcome()).toBe("completed");
    expect(rig.routedDecodes).toEqual([]);
    expect(rig.cleanups).toEqual(["release p1 r1"]);
    expect(rig.statesOf(one).at(-1)).toBe("completed");
  });

  it("releases nothing when the worker has freed the KV already", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    rig.prefilled(one, { finishReasons: ["stop"], handoff: null });
    await rig.settle();

    expect(one.sink.outcome()).toBe("completed");
    expect(rig.cleanups).toEqual([]);
  });

  it("passes the states of dispatch notices that were overtaken", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle();

    rig.prefilled(one);
    await rig.settle();
    rig.frame("d1", [entryOf(one, "A", 0, endOf("length"))]);
    await rig.settle();
    rig.dispatched(one, "decode", "d1");
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("completed");
    expect(rig.statesOf(one)).toContain("prefill.running");
    expect(rig.statesOf(one)).toContain("handoff");
  });

  it("ends the choice at a stop text, aborts decode and counts what was returned", async () => {
    const rig = new RelayRig();
    const one = rig.submit({ stop: ["END"] });
    await rig.toHandoff(one);

    rig.frame("d1", [entryOf(one, "some E", 0)]);
    await rig.settle();
    rig.frame("d1", [entryOf(one, "ND more", 6)]);
    await rig.settle();

    expect(one.sink.text()).toBe("some ");
    expect(one.sink.outcome()).toBe("completed");
    expect(one.sink.ends[0]?.summary?.outputTokens).toBe(8);
    expect(rig.cleanups).toEqual(["abort d1 r1"]);
  });

  it("joins the tokens of several frames into one call of the sink", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);
    const before = one.sink.calls;

    for (let at = 1; at < 5; at += 1) rig.frame("d1", [entryOf(one, "x", at)]);
    await rig.settle();

    expect(one.sink.text()).toBe("Axxxx");
    expect(one.sink.calls).toBe(before + 1);
  });
});

describe("aggregated and decode-only serving", () => {
  it("asks the decode router at once for an aggregated worker", async () => {
    const rig = new RelayRig([{ id: "a1", type: "aggregated" }]);
    const one = rig.submit();
    await rig.settle();
    rig.dispatched(one, "decode", "a1");
    await rig.settle();
    rig.frame("a1", [entryOf(one, "Hi", 0, endOf("stop", 3))]);
    await rig.settle(10);

    expect(rig.routedPrefills).toEqual([]);
    expect(rig.routedDecodes[0]).toMatchObject({
      pool: "aggregated",
      handoff: null,
      overrides: null,
    });
    expect(one.sink.ends[0]?.summary).toMatchObject({
      mode: "aggregated",
      prefillWorker: null,
      decodeWorker: "a1",
      cachedTokens: 3,
    });
    expect(rig.statesOf(one)).toEqual([
      "received",
      "preparing",
      "decode.queued",
      "decode.running",
      "decode.streaming",
      "completed",
    ]);
  });

  it("knows what was cached of a prompt whose output a stop text ends before the worker does", async () => {
    const rig = new RelayRig([{ id: "a1", type: "aggregated" }]);
    const one = rig.submit({ stop: ["!"] });
    await rig.settle();
    rig.dispatched(one, "decode", "a1");
    await rig.settle();
    rig.frame("a1", [{ ...entryOf(one, "Hi", 0), cachedTokens: 64 }]);
    rig.frame("a1", [entryOf(one, "!", 2)]);
    await rig.settle(10);

    expect(one.sink.ends[0]?.summary).toMatchObject({ mode: "aggregated", cachedTokens: 64 });
  });

  it("serves decode-only when no decode worker needs peers", async () => {
    const rig = new RelayRig([{ id: "d1", type: "decode", needs: [] }]);
    const one = rig.submit();
    await rig.settle();
    rig.frame("d1", [entryOf(one, "Hi", 0, endOf("stop"))]);
    await rig.settle();

    expect(one.sink.ends[0]?.summary?.mode).toBe("decode-only");
    expect(rig.routedDecodes[0]?.pool).toBe("decode");
  });

  it("refuses with why when the model's needs are not met", () => {
    const rig = new RelayRig([{ id: "d1", type: "decode" }]);

    const one = rig.submit();

    expect(one.sink.outcome()).toBe("failed received not_ready");
    expect(one.sink.ends[0]).toMatchObject({ error: { details: { why: "missing_prefill" } } });
    expect(rig.table.live.size).toBe(0);
  });
});

describe("what is refused at the door", () => {
  it("names an unknown model and what there is", () => {
    const one = new RelayRig().submit({ model: "gpt-9" });

    expect(one.sink.outcome()).toBe("failed received model_not_found");
    expect(one.sink.ends[0]).toMatchObject({
      error: { message: "the model 'gpt-9' does not exist; served here: m" },
    });
  });

  it("asks to come again while nothing is offered at all", () => {
    const one = new RelayRig([]).submit();

    expect(one.sink.outcome()).toBe("failed received not_ready");
    expect(one.sink.ends[0]).toMatchObject({ error: { details: { why: "no_workers" } } });
  });

  it("refuses with overloaded once the limit is reached, and takes on when one ends", async () => {
    const rig = new RelayRig();
    const many = Array.from({ length: 100 }, () => rig.submit());

    expect(rig.submit().sink.outcome()).toBe("failed received overloaded");
    many[0]?.handle.cancel();
    await rig.settle();
    expect(rig.submit().sink.outcome()).toBe("running");
  });

  it("refuses new requests while it drains, and is drained when the last has ended", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);
    let isDrained = false;

    const drained = rig.relay.drain().then(() => {
      isDrained = true;
    });
    await rig.settle();

    expect(rig.submit().sink.outcome()).toBe("failed received draining");
    expect(isDrained).toBe(false);
    rig.frame("d1", [entryOf(one, "Hi", 0, endOf("stop"))]);
    await rig.settle();
    await drained;
    expect(one.sink.outcome()).toBe("completed");
  });

  it("ends what is left with draining when it is stopped", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);

    rig.relay.stop();

    expect(one.sink.outcome()).toBe("failed decode.streaming draining");
  });

  it("refuses with bus_unavailable while its bus is gone", () => {
    const rig = new RelayRig();

    rig.network.disconnect(rig.frontendId);

    expect(rig.submit().sink.outcome()).toBe("failed received bus_unavailable");
  });
});

describe("preparing", () => {
  it("fails in its state with what is wrong", async () => {
    const rig = new RelayRig();
    rig.prepare = () => Promise.reject(new ServingError("context_length_exceeded"));

    const one = rig.submit();
    await rig.settle();

    expect(one.sink.outcome()).toBe("failed preparing context_length_exceeded");
    expect(rig.cleanups).toEqual([]);
    expect(rig.routedPrefills).toEqual([]);
  });

  it("asks nobody when the model has stopped being served meanwhile", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    rig.view.lose("p1");
    await rig.settle();

    expect(one.sink.outcome()).toBe("failed preparing not_ready");
    expect(rig.routedPrefills).toEqual([]);
  });
});

describe("several requests", () => {
  it("give each stream its own tokens of a shared frame", async () => {
    const rig = new RelayRig([...pair]);
    const one = rig.submit();
    const other = rig.submit();
    await rig.toHandoff(one);
    await rig.toHandoff(other);

    rig.frame("d1", [entryOf(one, "one", 0), entryOf(other, "other", 0)]);
    await rig.settle();

    expect(one.sink.text()).toBe("one");
    expect(other.sink.text()).toBe("other");
  });
});

describe("a deadline that passes", () => {
  const reach: Record<string, (rig: RelayRig, one: Submitted) => Promise<void>> = {
    "prefill.queued": async (rig, one) => {
      await rig.settle();
      rig.queued(one, "prefill");
      await rig.settle();
    },
    "prefill.running": (rig, one) => rig.toPrefillRunning(one),
    "decode.routing": async (rig, one) => {
      await rig.toDecodeRouting(one);
      rig.queued(one, "decode");
      await rig.settle();
    },
    handoff: (rig, one) => rig.toHandoff(one),
    "decode.streaming": (rig, one) => rig.toStreaming(one),
  };

  it.each(Object.entries(reach))("fails in %s", async (stage, go) => {
    const rig = new RelayRig();
    const one = rig.submit();
    await go(rig, one);

    await rig.settle(4_100);

    expect(one.sink.outcome()).toBe(`failed ${stage} deadline_exceeded`);
    expect(rig.table.live.size).toBe(0);
  });

  it("fails in preparing", async () => {
    const rig = new RelayRig();
    rig.prepare = () => new Promise(() => undefined);
    const one = rig.submit();

    await rig.settle(1_100);

    expect(one.sink.outcome()).toBe("failed preparing deadline_exceeded");
  });

  it("does not pass while tokens come", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);

    for (let at = 1; at < 5; at += 1) {
      await rig.settle(3_000);
      rig.frame("d1", [entryOf(one, "x", at)]);
    }
    await rig.settle();

    expect(one.sink.outcome()).toBe("running");
  });
});

describe("what a request says about its routing", () => {
  const rules: RoutingRules = {
    session: { id: "s" },
    prefillWorkerId: workerId("p1"),
    decodeWorkerId: workerId("d1"),
    constraints: { requiredTaints: ["gpu=a"], preferredTaints: {} },
    overrides: { routerTemperature: 0.5 },
    expectedOutputTokens: 9,
  };
  const wish = (changes: Partial<RoutingWish> = {}): RoutingWish => ({
    rules,
    cacheSalt: null,
    said: { decodeWorkerId: "baton.decode_worker", prefillWorkerId: "baton.prefill_worker" },
    ignored: [],
    ...changes,
  });

  it("goes to the routers of both legs", async () => {
    const rig = new RelayRig();
    const one = rig.submit({ routing: wish() });
    await rig.toPrefillRunning(one);
    rig.prefilled(one, {
      decodeConstraints: { requiredTaints: ["baton.topology/rack=r1"], preferredTaints: {} },
    });
    await rig.settle();

    expect(rig.routedPrefills[0]?.rules).toEqual(rules);
    expect(rig.routedDecodes[0]?.rules).toEqual({
      ...rules,
      constraints: { requiredTaints: ["gpu=a", "baton.topology/rack=r1"], preferredTaints: {} },
    });
  });

  it("goes to the one router where there is one leg", async () => {
    const rig = new RelayRig([{ id: "d1", type: "decode", needs: [] }]);
    rig.submit({ routing: wish({ rules: { session: { id: "s" } } }) });
    await rig.settle();

    expect(rig.routedDecodes[0]).toMatchObject({ rules: { session: { id: "s" } }, handoff: null });
  });

  it("ends the request before anything is sent if it names a decode worker that is not there", async () => {
    const rig = new RelayRig();
    const one = rig.submit({
      routing: wish({ rules: { ...rules, decodeWorkerId: workerId("d9") } }),
    });
    await rig.settle();

    expect(one.sink.outcome()).toBe("failed preparing unknown_worker");
    const [end] = one.sink.ends;
    expect(end?.kind === "failed" && end.error.details.param).toBe("baton.decode_worker");
    expect([rig.routedPrefills, rig.routedDecodes, rig.cleanups]).toEqual([[], [], []]);
  });

  it("is logged once where it has no effect", async () => {
    const rig = new RelayRig([{ id: "d1", type: "decode", needs: [] }]);
    for (let asked = 0; asked < 3; asked += 1) {
      rig.submit({ routing: wish({ ignored: ["nvext.agent_hints.priority"] }) });
    }
    await rig.settle();

    expect(rig.warnings.map(({ field }) => field)).toEqual([
      "nvext.agent_hints.priority",
      "baton.prefill_worker",
    ]);
  });
});

describe("what is known of the choice", () => {
  it("is told with the end: ranks, and how much of the prompt was found", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle();
    rig.dispatched(one, "prefill", "p1", 1, { dpRank: 2, overlapBlocks: 1 });
    await rig.settle();
    rig.prefilled(one);
    await rig.settle();
    rig.frame("d1", [entryOf(one, "A", 0, endOf("stop"))]);
    await rig.settle(10);

    expect(one.sink.ends[0]?.summary).toMatchObject({
      prefillDpRank: 2,
      decodeDpRank: null,
      kvHitRate: 0.5,
    });
  });
});
