/** Hot path: once per request. */
import { type SelectionRequest, selectionRules } from "@baton/kv-router";
import { Decode, Generate, type RouteDecode } from "@baton/protocol";
import { type Chosen, commandFields, type DeskPolicy, type WorkerCommand } from "@baton/routing";

/**
 * Decode's side of routing: with a ticket the worker fetches and goes on, without one it computes the prompt too. Both
 * take the same path.
 */
export const decodePolicy: DeskPolicy<RouteDecode> = {
  role: "decode-router",
  leg: "decode",
  workerTypes: new Set(["decode", "aggregated"]),

  workerType: ({ pool }) => pool,

  /** Without a prefill before it, the worker computes the prompt as an aggregated one does. */
  stage: ({ handoff }) => (handoff === null ? "aggregated" : "decode"),

  /** Decode workers behind prefill workers are chosen without a look at their caches: the KV comes with the request. */
  usesKvEvents: (workerType, workers) =>
    workers.some(
      (worker) =>
        worker.workerType === workerType &&
        (workerType === "aggregated" || worker.registration.needs.length === 0),
    ),

  rules({
    rules,
    overrides,
  }): Pick<SelectionRequest, "constraints" | "allowedWorkers" | "pin" | "overrides"> {
    const ofDecode = selectionRules(rules, "decode");
    const own = rules?.overrides;
    if (overrides === null) return own === undefined ? ofDecode : { ...ofDecode, overrides: own };
    return { ...ofDecode, overrides: { ...own, ...overrides } };
  },

  isStaged: ({ handoff }) => handoff !== null,

  command(request: RouteDecode, chosen: Chosen): WorkerCommand {
    const command = commandFields(request, chosen);
    return request.handoff === null
      ? { verb: "generate", payload: Generate.encode(command) }
      : { verb: "decode", payload: Decode.encode({ ...command, handoff: request.handoff }) };
  },
};
