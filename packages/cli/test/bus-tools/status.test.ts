import type { ActorHeartbeat } from "@baton/protocol";
import {
  actorHeartbeat,
  catalog,
  catalogWorker,
  testModel,
  workerRegistration,
} from "@baton/testing";
import { describe, expect, it } from "vitest";
import { statusOf } from "../../src/bus-tools/status.ts";
import { statusText } from "../../src/bus-tools/status-text.ts";

const prefill = catalogWorker(
  workerRegistration({ id: "p", workerType: "prefill", needs: [["decode"]] }),
);
const decode = catalogWorker(
  workerRegistration({ id: "d", workerType: "decode", needs: [["prefill"]] }),
);
const frontend = actorHeartbeat("f", { role: "frontend" });
const router = (id: string, state: "pending" | "active" | "unavailable"): ActorHeartbeat =>
  actorHeartbeat(id, { role: "prefill-router", activation: [{ model: testModel, state }] });

const decodeRouter = (state: ActorHeartbeat["state"]): ActorHeartbeat =>
  actorHeartbeat("dr", { role: "decode-router", state });

describe("statusOf", () => {
  it("shows of several routers the worst activation", () => {
    const models = statusOf(
      [router("r1", "active"), router("r2", "pending")],
      catalog([prefill, decode]),
    ).models;

    expect(models).toMatchObject([
      { model: testModel, activation: "pending", ready: false, why: { code: "activating" } },
    ]);
  });

  it("calls a model ready when its needs are met and every router is active", () => {
    const models = statusOf(
      [router("r1", "active"), decodeRouter("ready")],
      catalog([prefill, decode]),
    ).models;

    expect(models).toMatchObject([{ ready: true, why: null, activation: "active" }]);
  });

  it("forgets what a prefill router said once it is lost", () => {
    const models = statusOf(
      [{ ...router("r1", "active"), state: "lost" }, decodeRouter("ready")],
      catalog([prefill, decode]),
    ).models;

    expect(models).toMatchObject([
      { activation: "pending", ready: false, why: { code: "activating" } },
    ]);
  });

  it("calls no model ready without a decode router", () => {
    const models = statusOf(
      [router("r1", "active"), decodeRouter("lost")],
      catalog([prefill, decode]),
    ).models;

    expect(models).toMatchObject([
      { activation: "active", ready: false, why: { text: "no decode router is up" } },
    ]);
  });

  it("says what is missing", () => {
    const models = statusOf([], catalog([decode])).models;

    expect(models).toMatchObject([
      { ready: false, activation: "none", why: { code: "missing_prefill" } },
    ]);
  });

  it("shows workers that Discovery lost beside the actors that answered", () => {
    const lost = { ...prefill, state: "lost" as const };

    const { actors } = statusOf([frontend], catalog([lost, decode]));

    expect(actors.map(({ id, state }) => [id, state])).toEqual([
      ["f", "ready"],
      ["p", "lost"],
    ]);
  });

  it("has the actors even when Discovery is gone", () => {
    expect(statusOf([frontend], null)).toMatchObject({
      actors: [{ id: "f", role: "frontend" }],
      models: [],
    });
  });
});

describe("statusText", () => {
  it("shows models, then actors, in columns", () => {
    const text = statusText(
      statusOf(
        [router("r1", "active"), decodeRouter("ready"), frontend],
        catalog([prefill, decode]),
      ),
    );

    expect(text).toMatch(/MODEL +STATE +ACTIVATION/);
    expect(text).toMatch(new RegExp(`${testModel} +ready +active`));
    expect(text).toMatch(/frontend +f +ready/);
  });

  it("says so when there is nothing to show", () => {
    expect(statusText({ actors: [], models: [] })).toMatch(/no models[\s\S]*no actors answered/);
  });
});
