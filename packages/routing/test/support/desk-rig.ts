import { type RouterMode, selectionRules } from "@baton/kv-router";
import {
  actorId,
  Booking,
  Decode,
  Dispatched,
  Generate,
  LegFailed,
  modelName,
  Prefill,
  Queued,
  type RouteDecode,
  requestId,
} from "@baton/protocol";
import { type MemoryCluster, memoryCluster, routeDecode, testModel } from "@baton/testing";
import { commandFields } from "../../src/command-fields.ts";
import type { DeskLimits, DeskPolicy } from "../../src/desk-policy.ts";
import { type DeskDeps, ModelDesk } from "../../src/model-desk.ts";
import type { LoadedPolicy } from "../../src/policy/load-policy.ts";
import { parsePolicyFile } from "../../src/policy/parse-policy-file.ts";
import type { PolicyFlags } from "../../src/policy/policy-options.ts";
import { resolvePolicy } from "../../src/policy/resolve-policy.ts";
import { routerMetrics } from "../../src/router-metrics.ts";
import { FakeView } from "./fake-view.ts";

export const model = modelName(testModel);
export const limits: DeskLimits = {
  queueLimit: 8,
  bookingLimit: 100,
  bookingGraceMs: 2_000,
  refusalMs: 1_000,
};

/** A policy as flags say it, without a file; `least-loaded` if they name no mode. */
export function loadedPolicy(flags: Partial<PolicyFlags> = {}): LoadedPolicy {
  const mode: RouterMode = flags.routerMode ?? "least-loaded";
  const policy = resolvePolicy({ ...flags, routerMode: mode }, null);
  return { policy, modules: new Map(), stamp: null };
}

/** For figures of a desk that nobody asks about. */
export const noneHeld = { bookings: () => 0, queued: () => 0, sessions: () => 0 };

/** A feed that says nothing. */
export function noFeed() {
  return { workersChanged: () => undefined, stop: () => undefined };
}

/** The policy of a role that sends every request as it is. */
export const plainPolicy: DeskPolicy<RouteDecode> = {
  role: "decode-router",
  leg: "decode",
  workerTypes: new Set(["decode", "aggregated"]),
  workerType: ({ pool }) => pool,
  stage: ({ handoff }) => (handoff === null ? "aggregated" : "decode"),
  usesKvEvents: () => false,
  rules: ({ rules }) => ({
    ...selectionRules(rules, "decode"),
    ...(rules?.overrides === undefined ? {} : { overrides: rules.overrides }),
  }),
  isStaged: ({ handoff }) => handoff !== null,
  command: (request, chosen) => {
    const command = commandFields(request, chosen);
    return request.handoff === null
      ? { verb: "generate", payload: Generate.encode(command) }
      : { verb: "decode", payload: Decode.encode({ ...command, handoff: request.handoff }) };
  },
};

/** A policy of flags and the text of a file; mode `kv` if the flags name none. */
export function policyFromFile(text: string, flags: Partial<PolicyFlags> = {}): LoadedPolicy {
  const policy = resolvePolicy({ routerMode: "kv", ...flags }, parsePolicyFile(text, "/p.yaml"));
  return { policy, modules: new Map(), stamp: null };
}

/** A request for a decode worker, with staged KV. */
export function stagedRequest(id: string, changes: Partial<RouteDecode> = {}): RouteDecode {
  return routeDecode(id, { handoff: new Uint8Array([1]), ...changes });
}

const readers: Readonly<Record<string, (bytes: Uint8Array, id: string) => string>> = {
  queued: (bytes) => `queued ${Queued.decode(bytes).requestId}`,
  dispatched: (bytes) => {
    const { requestId: id, workerId, queuedMs } = Dispatched.decode(bytes);
    return `dispatched ${id} ${workerId} after ${queuedMs}`;
  },
  failed: (bytes) => {
    const { requestId: id, error } = LegFailed.decode(bytes);
    return `failed ${id} ${error.code}`;
  },
  booked: (bytes) => {
    const { bookingId, workerId } = Booking.decode(bytes);
    return `booked ${bookingId} ${workerId}`;
  },
  prefill: (bytes, id) => `prefill ${id} ${Prefill.decode(bytes).requestId}`,
  generate: (bytes, id) => `generate ${id} ${Generate.decode(bytes).requestId}`,
  decode: (bytes, id) => `decode ${id} ${Decode.decode(bytes).requestId}`,
};

/** What routers say on the bus, in the order of saying: `queued r1`, `failed r1 overloaded`, `generate w-1 r1`. */
export function linesOf(cluster: MemoryCluster): string[] {
  const lines: string[] = [];
  cluster.network.observe(({ subject, payload }) => {
    const [verb = "", id = ""] = subject.split(".").slice(5);
    const read = readers[verb];
    if (read !== undefined) lines.push(read(payload, id));
  });
  return lines;
}

/** Listens as a worker would, so that commands for it do not bounce. */
export function listenAs(cluster: MemoryCluster, id: string): void {
  const bus = cluster.bus(id);
  for (const verb of ["prefill", "generate", "decode"] as const) {
    bus.subscribe(cluster.subjects.worker(verb, model, actorId(id)), () => undefined);
  }
}

export interface DeskRig {
  readonly cluster: MemoryCluster;
  readonly view: FakeView;
  readonly desk: ModelDesk<RouteDecode>;
  /** What was said, since the last look. */
  heard(): Promise<readonly string[]>;
}

/** A desk over workers that the test sets, with ears on the bus. */
export function deskRig(
  workers: ConstructorParameters<typeof FakeView>[0],
  changes: {
    readonly limits?: Partial<DeskLimits>;
    readonly policy?: Partial<DeskPolicy<RouteDecode>>;
    readonly flags?: Partial<PolicyFlags>;
    readonly loaded?: LoadedPolicy;
    readonly openFeed?: DeskDeps<RouteDecode>["openFeed"];
  } = {},
): DeskRig {
  const cluster = memoryCluster();
  const view = new FakeView(workers);
  const ctx = cluster.context({ role: "decode-router", id: "d-1" });
  const lines = linesOf(cluster);
  for (const { id } of workers ?? []) listenAs(cluster, id);
  const desk: ModelDesk<RouteDecode> = new ModelDesk(
    { model, limits: { ...limits, ...changes.limits } },
    {
      ctx,
      view,
      policy: { ...plainPolicy, ...changes.policy },
      loaded: changes.loaded ?? loadedPolicy(changes.flags),
      openFeed: changes.openFeed ?? noFeed,
      metrics: routerMetrics(ctx.metrics, "decode", {
        bookings: () => desk.booked,
        queued: () => desk.queued,
        sessions: () => desk.sessions,
      }),
    },
  );
  ctx.bus.onUndeliverable((key) => desk.undeliverable(requestId(key)));
  return {
    cluster,
    view,
    desk,
    heard: async () => {
      await cluster.clock.advanceBy(0);
      return lines.splice(0);
    },
  };
}
