import {
  activationTarget,
  gatherWorkerSets,
  modelReadiness,
  type WorkerSetFacts,
} from "@baton/kv-router";
import {
  type ActivationState,
  ActorHeartbeat,
  Catalog,
  type CatalogWorker,
  type Subjects,
  type Why,
} from "@baton/protocol";
import type { Bus, Clock } from "@baton/runtime";

/** One actor as `baton status` shows it. */
export interface ActorStatus {
  readonly id: string;
  readonly role: string;
  readonly state: string;
  readonly pid: number;
  readonly host: string;
  readonly admin: string | null;
  readonly namespace: string;
  /** `http://HOST:PORT` of a Frontend's API. */
  readonly api?: string;
  readonly model?: string;
  readonly worker_type?: string;
  readonly set?: string;
  readonly generation: number;
}

/** One set of a model's workers. */
export interface SetStatus {
  readonly worker_type: string;
  readonly set: string;
  readonly live: number;
  readonly lost: number;
  readonly refused: number;
}

/** One model as `baton status` shows it. */
export interface ModelStatus {
  readonly namespace: string;
  readonly model: string;
  readonly ready: boolean;
  readonly why: Why | null;
  readonly activation: ActivationState;
  readonly sets: readonly SetStatus[];
}

/** What `baton status --json` prints. */
export interface ClusterStatus {
  readonly actors: readonly ActorStatus[];
  readonly models: readonly ModelStatus[];
}

/** How long actors have to answer a ping. A frozen one is missing, or shown by Discovery's word as lost. */
const answerTimeMs = 400;
const catalogTimeoutMs = 1_000;

/** Asks everybody on the bus how they are. Without Discovery the models are missing; the actors are not. */
export async function readStatus(deps: {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
}): Promise<ClusterStatus> {
  const heard = new Map<string, ActorHeartbeat>();
  const answers = deps.bus.requestMany(deps.subjects.ping(), new Uint8Array(0), (payload) => {
    const heartbeat = ActorHeartbeat.decode(payload);
    heard.set(`${heartbeat.role} ${heartbeat.id}`, heartbeat);
  });
  const catalog = await deps.bus
    .request(deps.subjects.getCatalog(), new Uint8Array(0), { timeoutMs: catalogTimeoutMs })
    .then(Catalog.decode, () => null);
  await deps.clock.sleep(answerTimeMs);
  answers.unsubscribe();
  return statusOf([...heard.values()], catalog);
}

/** Puts heartbeats and catalog together. */
export function statusOf(
  heartbeats: readonly ActorHeartbeat[],
  catalog: Catalog | null,
): ClusterStatus {
  const actors = heartbeats.map(actorStatus);
  const present = new Set(heartbeats.filter(({ role }) => role === "worker").map(({ id }) => id));
  const lost = (catalog?.workers ?? []).filter(
    ({ state, registration }) => state === "lost" && !present.has(registration.id),
  );
  return {
    actors: [...actors, ...lost.map(lostWorker)].sort((left, right) =>
      `${left.role} ${left.id}` < `${right.role} ${right.id}` ? -1 : 1,
    ),
    models: (catalog?.models ?? []).map(({ model }) => modelStatus(model, catalog, heartbeats)),
  };
}

function actorStatus(heartbeat: ActorHeartbeat): ActorStatus {
  return {
    id: heartbeat.id,
    role: heartbeat.role,
    state: heartbeat.state,
    pid: heartbeat.pid,
    host: heartbeat.host,
    admin: heartbeat.admin,
    namespace: heartbeat.namespace,
    ...(heartbeat.api !== null && { api: heartbeat.api }),
    ...(heartbeat.model !== null && { model: heartbeat.model }),
    ...(heartbeat.workerType !== null && { worker_type: heartbeat.workerType }),
    ...(heartbeat.set !== null && { set: heartbeat.set }),
    generation: heartbeat.generation,
  };
}

function lostWorker({ registration }: CatalogWorker): ActorStatus {
  return {
    id: registration.id,
    role: "worker",
    state: "lost",
    pid: registration.pid,
    host: registration.host,
    admin: registration.admin,
    namespace: registration.namespace,
    model: registration.card.model,
    worker_type: registration.workerType,
    set: registration.set,
    generation: registration.generation,
  };
}

function modelStatus(
  model: string,
  catalog: Catalog | null,
  heartbeats: readonly ActorHeartbeat[],
): ModelStatus {
  const workers = (catalog?.workers ?? []).filter(
    ({ registration }) => registration.card.model === model,
  );
  const sets = gatherWorkerSets(workers);
  const activation = worstActivation(model, sets, heartbeats);
  const readiness = modelReadiness(sets, activation);
  const routed = heartbeats.some(
    (heartbeat) => heartbeat.role === "decode-router" && lives(heartbeat),
  );
  const { ready, why } = readiness.ready && !routed ? noDecodeRouter : readiness;
  return {
    namespace: catalog?.namespace ?? "",
    model,
    ready,
    why: why ?? null,
    activation,
    sets: (catalog?.models.find((entry) => entry.model === model)?.sets ?? []).map((set) => ({
      worker_type: set.workerType,
      set: set.set,
      live: set.live,
      lost: set.lost,
      refused: set.refused,
    })),
  };
}

/** Workers alone answer nobody: every way through the system passes a DecodeRouter. */
const noDecodeRouter: { readonly ready: boolean; readonly why: Why } = {
  ready: false,
  why: { code: "activating", text: "no decode router is up" },
};

/** What a router said before it fell silent says nothing about now. */
function lives({ state }: ActorHeartbeat): boolean {
  return state !== "lost" && state !== "stopped";
}

/** Of several routers the worst counts; a target that no router speaks of is pending. */
function worstActivation(
  model: string,
  sets: readonly WorkerSetFacts[],
  heartbeats: readonly ActorHeartbeat[],
): ActivationState {
  const states = heartbeats
    .filter((heartbeat) => heartbeat.role === "prefill-router" && lives(heartbeat))
    .map(({ activation }) => activation?.find((entry) => entry.model === model)?.state ?? "none");
  const order: readonly ActivationState[] = ["unavailable", "pending", "none", "active"];
  const worst = order.find((state) => states.includes(state));
  return worst ?? (activationTarget(sets).kind === "target" ? "pending" : "none");
}
