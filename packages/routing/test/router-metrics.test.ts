import { modelName } from "@baton/protocol";
import { createMetricsRegistry } from "@baton/runtime";
import { expect, it } from "vitest";
import { routerMetrics } from "../src/router-metrics.ts";

it("shows every figure with the type of the workers as its role, zero when nothing is held", async () => {
  const registry = createMetricsRegistry();
  const metrics = routerMetrics(registry.forActor("prefill-router", "p-1"), "prefill", {
    bookings: () => 0,
    queued: () => 3,
    sessions: () => 4,
  });

  metrics.dispatched();
  metrics.refused("overloaded");
  metrics.refused("overloaded");
  metrics.undeliverable();
  metrics.malformed();
  metrics.policyReloads("taken");
  metrics.policyReloads("refused");
  metrics.policyReloads("refused");
  metrics.cachedTokens(modelName("m"), "prefill", { best: 640, selected: 64 });
  metrics.selected(30e-6);

  const text = await registry.text();
  const own = 'actor="prefill-router",id="p-1",role="prefill"';
  for (const line of [
    `baton_router_bookings{${own}} 0`,
    `baton_router_queued{${own}} 3`,
    `baton_router_sessions{${own}} 4`,
    `baton_router_dispatched_total{${own}} 1`,
    `baton_router_refused_total{${own},code="overloaded"} 2`,
    `baton_router_undeliverable_total{${own}} 1`,
    `baton_router_malformed_messages_total{${own}} 1`,
    `baton_router_policy_reloads_total{${own},outcome="taken"} 1`,
    `baton_router_policy_reloads_total{${own},outcome="refused"} 2`,
    `baton_router_selection_seconds_count{${own}} 1`,
    `baton_kv_cached_tokens_total{actor="prefill-router",id="p-1",kind="best",model="m",role="prefill"} 640`,
    `baton_kv_cached_tokens_total{actor="prefill-router",id="p-1",kind="selected",model="m",role="prefill"} 64`,
  ]) {
    expect(text).toContain(line);
  }
});
