import { LoadReport, RouteDecode, requestId } from "@baton/protocol";
import type { MemoryCluster } from "@baton/testing";
import { DeskHost } from "../../src/desk-host.ts";
import type { DeskLimits, DeskPolicy } from "../../src/desk-policy.ts";
import type { LoadedPolicy } from "../../src/policy/load-policy.ts";
import { routerMetrics } from "../../src/router-metrics.ts";
import { limits, loadedPolicy, model, plainPolicy } from "./desk-rig.ts";
import { FakeFeeds } from "./fake-feeds.ts";
import { FakeView } from "./fake-view.ts";

/** How a played router differs from a plain one. */
export interface HostRigOptions {
  readonly workers?: ConstructorParameters<typeof FakeView>[0];
  readonly loaded?: LoadedPolicy;
  readonly limits?: Partial<DeskLimits>;
  readonly policy?: Partial<DeskPolicy<RouteDecode>>;
}

/** One router's desk on the bus, with a view of its own: it serves, hears reports and bounces, and sweeps. */
export function hostRig(cluster: MemoryCluster, id: string, options: HostRigOptions = {}) {
  const view = new FakeView(options.workers);
  const feeds = new FakeFeeds();
  const ctx = cluster.context({ role: "decode-router", id });
  const host: DeskHost<RouteDecode> = new DeskHost(
    { model, limits: { ...limits, ...options.limits } },
    {
      ctx,
      view,
      policy: { ...plainPolicy, ...options.policy },
      loaded: options.loaded ?? loadedPolicy(),
      openFeed: feeds.open,
      message: RouteDecode,
      metrics: routerMetrics(ctx.metrics, "decode", {
        bookings: () => host.desk.booked,
        queued: () => host.desk.queued,
        sessions: () => host.desk.sessions,
      }),
    },
  );
  ctx.bus.onUndeliverable((key) => host.desk.undeliverable(requestId(key)));
  ctx.bus.subscribe(cluster.subjects.loadsReported(model), ({ payload }) => {
    const report = LoadReport.decode(payload);
    const worker = view.worker(report.workerId);
    if (worker?.generation !== report.generation || worker.state === "lost") return;
    host.reported(worker, report);
  });
  ctx.clock.setRepeating(50, () => host.desk.sweep());
  host.desk.workersChanged();
  host.serve();
  return { host, view, feeds, ctx };
}
