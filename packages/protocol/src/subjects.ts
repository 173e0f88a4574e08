import {
  type ActorId,
  type ModelName,
  type NamespaceName,
  nameToken,
  type WorkerId,
} from "./ids.ts";

/** The layout version of every subject. */
export const subjectRoot = "baton.v1";
/** Where actors are asked whether they live. */
export const probeRoot = "baton.probe";
/** Stands for a model where a subject has none. */
export const noModel = "_";

/** The six actor roles, as they stand in subjects and commands. */
export const actorRoles = [
  "frontend",
  "discovery",
  "prefill-router",
  "decode-router",
  "kv-event-aggregator",
  "worker",
] as const;
/** One of the six roles. */
export type ActorRole = (typeof actorRoles)[number];
/** The two roles that choose workers. */
export type RouterRole = "prefill-router" | "decode-router";

/** Whether a text is an actor role. */
export function isActorRole(text: string): text is ActorRole {
  return (actorRoles as readonly string[]).includes(text);
}

/**
 * Builds every subject of one namespace. Nothing else in the system spells a subject. Names are hashed once
 * per model and kept; a Frontend that is asked for made-up models checks the catalog before it comes here.
 */
export class Subjects {
  readonly namespace: NamespaceName;
  readonly #namespaceToken: string;
  readonly #prefix: string;
  readonly #tokens = new Map<ModelName, string>();

  constructor(namespace: NamespaceName) {
    this.namespace = namespace;
    this.#namespaceToken = nameToken(namespace);
    this.#prefix = `${subjectRoot}.${this.#namespaceToken}`;
  }

  /** Everything of this namespace. */
  everything(): string {
    return `${this.#prefix}.>`;
  }

  /** Life signs of one actor, which also answer a ping. `model` is null for actors that serve many. */
  heartbeat(role: ActorRole, model: ModelName | null, id: ActorId): string {
    return `${this.#of(model)}.${role}.heartbeat.${id}`;
  }

  /** Life signs of all actors of a role, of every model. */
  heartbeats(role: ActorRole): string {
    return `${this.#prefix}.*.${role}.heartbeat.*`;
  }

  /**
   * One actor answers a request here with its generation; nobody listening means that it is gone. It stands outside of
   * `baton.v1`, because whoever watches `baton.v1.>` would count as a listener.
   */
  probe(role: ActorRole, id: ActorId): string {
    return `${probeRoot}.${this.#namespaceToken}.${role}.${id}`;
  }

  /** Every actor answers a request here with its heartbeat. */
  ping(): string {
    return `${this.#of(null)}.actor.ping`;
  }

  /** Replies to one actor: each call appends its own token. */
  inbox(id: ActorId): string {
    return `${this.#of(null)}.inbox.${id}`;
  }

  /** A worker's request to be listed. */
  register(): string {
    return `${this.#of(null)}.discovery.register`;
  }

  /** A worker's word that it leaves. */
  deregister(): string {
    return `${this.#of(null)}.discovery.deregister`;
  }

  /** Asks Discovery for the catalog. */
  getCatalog(): string {
    return `${this.#of(null)}.discovery.get-catalog`;
  }

  /** The catalog, published whenever it changes. */
  catalogPublished(): string {
    return `${this.#of(null)}.discovery.catalog.published`;
  }

  /** A prefill or decode routing request of a model: a queue group of that role's routers serves it. */
  route(role: RouterRole, model: ModelName): string {
    return `${this.#of(model)}.${role}.${routeVerb(role)}`;
  }

  /** The same for one router, while another of the group does not answer. */
  routeTo(role: RouterRole, model: ModelName, id: ActorId): string {
    return `${this.route(role, model)}.${id}`;
  }

  /** Asks one router of a role and model where it would send a request, with the same message as `route`. */
  explainRoute(role: RouterRole, model: ModelName): string {
    return `${this.#of(model)}.${role}.explain-route`;
  }

  /** Asks one Frontend where a request would go. */
  explainRequest(): string {
    return `${this.#of(null)}.frontend.explain-request`;
  }

  /** Tells every router of a role and model that requests have ended. */
  routeCancel(role: RouterRole, model: ModelName): string {
    return `${this.#of(model)}.${role}.cancel`;
  }

  /** A router's booking, heard by every router of the role and model. */
  booked(role: RouterRole, model: ModelName): string {
    return `${this.#of(model)}.${role}.booked`;
  }

  /** Where a session's requests go, heard by every router of the role and model. */
  sessionBound(role: RouterRole, model: ModelName): string {
    return `${this.#of(model)}.${role}.session-bound`;
  }

  /** A command to one worker. */
  worker(verb: WorkerVerb, model: ModelName, id: WorkerId): string {
    return `${this.#of(model)}.worker.${verb}.${id}`;
  }

  /** Tells every worker of a model to drop requests, for a sender that does not know which worker has them. */
  abortAnywhere(model: ModelName): string {
    return `${this.#of(model)}.worker.abort`;
  }

  /** One worker's load, on change and with each heartbeat. */
  loadReported(model: ModelName, id: WorkerId): string {
    return `${this.#of(model)}.worker.load.reported.${id}`;
  }

  /** The load of every worker of a model. */
  loadsReported(model: ModelName): string {
    return `${this.#of(model)}.worker.load.reported.*`;
  }

  /** One worker's KV events. */
  kvChanged(model: ModelName, id: WorkerId): string {
    return `${this.#of(model)}.worker.kv.changed.${id}`;
  }

  /** The KV events of every worker of a model, or of all models. */
  kvChangedAll(model: ModelName | "*"): string {
    return `${this.#any(model)}.worker.kv.changed.*`;
  }

  /** The ordered feed of a model's KV events. */
  kvFeed(model: ModelName): string {
    return `${this.#of(model)}.kv-event-aggregator.kv.feed`;
  }

  /** Asks the aggregator how far its feed has come with each rank. */
  getKvPositions(model: ModelName | "*"): string {
    return `${this.#any(model)}.kv-event-aggregator.get-kv-positions`;
  }

  /** Asks the aggregator for what is missing of one rank. */
  getKvHistory(model: ModelName | "*"): string {
    return `${this.#any(model)}.kv-event-aggregator.get-kv-history`;
  }

  /** A fact for one Frontend about one of its requests. */
  toFrontend(fact: FrontendFact, model: ModelName, id: ActorId): string {
    return `${this.#of(model)}.frontend.${fact}.${id}`;
  }

  /** The facts of one kind for one Frontend, of every model. */
  toFrontendAll(fact: FrontendFact, id: ActorId): string {
    return `${this.#prefix}.*.frontend.${fact}.${id}`;
  }

  /** State changes of a Frontend's requests, batched. */
  requestTransitions(model: ModelName): string {
    return `${this.#of(model)}.frontend.request.transitions`;
  }

  /** State changes of all requests of the namespace. */
  requestTransitionsAll(): string {
    return `${this.#prefix}.*.frontend.request.transitions`;
  }

  #of(model: ModelName | null): string {
    return `${this.#prefix}.${model === null ? noModel : this.#token(model)}`;
  }

  #any(model: ModelName | "*"): string {
    return model === "*" ? `${this.#prefix}.*` : this.#of(model);
  }

  #token(model: ModelName): string {
    const known = this.#tokens.get(model);
    if (known !== undefined) return known;
    const token = nameToken(model);
    this.#tokens.set(model, token);
    return token;
  }
}

/** What one worker may be told on a subject of its own. */
export const workerVerbs = [
  "prefill",
  "decode",
  "generate",
  "release",
  "extend",
  "abort",
  "get-frames",
  "get-kv-events",
  "get-artifact",
] as const;
/** One of a worker's verbs. */
export type WorkerVerb = (typeof workerVerbs)[number];

/** What a Frontend hears about its requests, each on a subject of its own. */
export const frontendFacts = ["queued", "dispatched", "prefilled", "tokens", "failed"] as const;
/** One of the facts for a Frontend. */
export type FrontendFact = (typeof frontendFacts)[number];

/** The verb of a router's main request. */
export function routeVerb(role: RouterRole): "route-prefill" | "route-decode" {
  return role === "prefill-router" ? "route-prefill" : "route-decode";
}
