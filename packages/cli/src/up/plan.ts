import { type ActorRole, ServingError, type WorkerType } from "@baton/protocol";

/** One actor that `baton up` starts. */
export interface PlannedActor {
  readonly role: ActorRole;
  readonly id: string;
  /** Options of the actor by flag name without dashes, as its command takes them. */
  readonly flags: Readonly<Record<string, string | boolean | readonly string[]>>;
}

/** What `baton up` was asked for, as far as the plan depends on it. */
export interface PlanInput {
  readonly prefill: number;
  readonly decode: number;
  readonly aggregated: number;
  readonly decodeOnly: boolean;
  /** Null: the routers' own default, or what the policy file says. */
  readonly routerMode: string | null;
  readonly policyFile: string | null;
  readonly port: number;
  readonly host: string;
  /** Flags that the Frontend gets beside its address. */
  readonly frontendFlags: PlannedActor["flags"];
  /** Flags that every worker gets: engine, model, and the engine's own. */
  readonly workerFlags: PlannedActor["flags"];
  /** Ends every id, so that two clusters on one bus stay apart. */
  readonly tag: string;
}

/** Every actor of a cluster on this machine, in the order in which they start. */
export function planCluster(input: PlanInput): readonly PlannedActor[] {
  const { tag, routerMode, policyFile } = input;
  const routerFlags = {
    ...(routerMode !== null && { "router-mode": routerMode }),
    ...(policyFile !== null && { "policy-file": policyFile }),
  };
  return [
    { role: "discovery", id: `discovery-${tag}`, flags: {} },
    { role: "kv-event-aggregator", id: `kv-event-aggregator-${tag}`, flags: {} },
    {
      role: "prefill-router",
      id: `prefill-router-${tag}`,
      flags: routerFlags,
    },
    {
      role: "decode-router",
      id: `decode-router-${tag}`,
      flags: routerFlags,
    },
    ...workers(input, "prefill", input.prefill),
    ...workers(input, "decode", input.decode),
    ...workers(input, "aggregated", input.aggregated),
    {
      role: "frontend",
      id: `frontend-${tag}`,
      flags: { ...input.frontendFlags, port: String(input.port), host: input.host },
    },
  ];
}

function workers(input: PlanInput, type: WorkerType, count: number): readonly PlannedActor[] {
  return Array.from({ length: count }, (_, index) => ({
    role: "worker" as const,
    id: `${type}-${index}-${input.tag}`,
    flags: {
      ...input.workerFlags,
      "worker-type": type,
      ...(type === "decode" && input.decodeOnly && { "decode-only": true }),
    },
  }));
}

/**
 * How many workers of each type: `--aggregated N` alone means no others; with nothing said it is one prefill and one
 * decode worker. Throws `config_invalid` if there is none at all.
 */
export function workerCounts(asked: {
  readonly prefill?: number | undefined;
  readonly decode?: number | undefined;
  readonly aggregated?: number | undefined;
}): { readonly prefill: number; readonly decode: number; readonly aggregated: number } {
  const alone =
    asked.aggregated !== undefined && asked.prefill === undefined && asked.decode === undefined;
  const counts = {
    prefill: asked.prefill ?? (alone ? 0 : 1),
    decode: asked.decode ?? (alone ? 0 : 1),
    aggregated: asked.aggregated ?? 0,
  };
  if (counts.prefill + counts.decode + counts.aggregated === 0) {
    throw new ServingError("config_invalid", {
      problem: "--prefill, --decode and --aggregated: one of them must be above 0",
    });
  }
  return counts;
}
