import type { AnyMessage } from "./message-type.ts";
import { ActorHeartbeat } from "./messages/actor-heartbeat-v1.ts";
import { Artifact, GetArtifact } from "./messages/artifact-v1.ts";
import { Catalog } from "./messages/catalog-v1.ts";
import { ExplainRequest, RequestExplained } from "./messages/explain-request-v1.ts";
import { Dispatched, LegFailed, PrefillDone, Queued } from "./messages/frontend-facts-v1.ts";
import { GetKvHistory } from "./messages/get-kv-history-v1.ts";
import { GetKvEvents, KvEvents, KvHistory } from "./messages/kv-events-v1.ts";
import { KvFeed } from "./messages/kv-feed-v1.ts";
import { KvPositions } from "./messages/kv-positions-v1.ts";
import { LoadReport } from "./messages/load-report-v1.ts";
import { ProbeReply } from "./messages/probe-v1.ts";
import { RequestTransitions } from "./messages/request-transitions-v1.ts";
import { RouteExplained } from "./messages/route-explained-v1.ts";
import { RouteDecode, RoutePrefill } from "./messages/route-v1.ts";
import { Booking, CancelRoute } from "./messages/router-facts-v1.ts";
import { SessionBound } from "./messages/session-bound-v1.ts";
import { GetFrames, MissingFrames, TokenFrame } from "./messages/token-frame-v1.ts";
import {
  Abort,
  Decode,
  Extend,
  Generate,
  Prefill,
  Release,
} from "./messages/worker-commands-v1.ts";
import {
  RegistrationReply,
  WorkerDeregistration,
  WorkerRegistration,
} from "./messages/worker-registration-v1.ts";
import { type ActorRole, actorRoles, probeRoot } from "./subjects.ts";

/** Who publishes on a subject or listens to it. `any`: every role, and tools. */
export type SubjectParty = ActorRole | "any";

/** One kind of subject: its shape, what travels on it, and between whom. */
export interface SubjectRow {
  /** `<ns>`, `<model>` (a name's token or `_`) and `<id>` stand for one token each. */
  readonly pattern: string;
  /** Null where the payload is empty. */
  readonly message: AnyMessage | null;
  readonly publishers: readonly SubjectParty[];
  readonly subscribers: readonly SubjectParty[];
  /** Queue group: one member gets each message. */
  readonly queue: string | null;
  /** What comes back on the reply subject; null if the subject is no request. */
  readonly reply: AnyMessage | null;
  readonly meaning: string;
}

/** The queue group of a model's routers of one role. */
export const routersQueue = "routers";
/** The queue group of a namespace's Frontends. */
export const frontendsQueue = "frontends";

const root = "baton.v1.<ns>";

function row(
  pattern: string,
  message: AnyMessage | null,
  [publishers, subscribers]: readonly [readonly SubjectParty[], readonly SubjectParty[]],
  meaning: string,
  more: { readonly queue?: string; readonly reply?: AnyMessage } = {},
): SubjectRow {
  return {
    pattern: `${root}.${pattern}`,
    message,
    publishers,
    subscribers,
    queue: more.queue ?? null,
    reply: more.reply ?? null,
    meaning,
  };
}

/** Outside of `baton.v1`, so that a watcher of `baton.v1.>` is not taken for the actor. */
function probeRow(role: ActorRole): SubjectRow {
  return {
    pattern: `${probeRoot}.<ns>.${role}.<id>`,
    message: null,
    publishers: ["any"],
    subscribers: [role],
    queue: null,
    reply: ProbeReply,
    meaning: "Asks one actor whether it lives.",
  };
}

const routers = ["prefill-router", "decode-router"] as const;
const followers = [...routers, "frontend"] as const;

/** Every subject there is, but for the replies under `baton.v1.<ns>._.inbox.<id>.>`. */
export const subjectTable: readonly SubjectRow[] = [
  ...actorRoles.flatMap((role) => [
    row(`<model>.${role}.heartbeat.<id>`, ActorHeartbeat, [[role], ["any"]], "Life sign."),
    probeRow(role),
  ]),
  row("_.actor.ping", null, [["any"], [...actorRoles]], "Every actor answers with its heartbeat.", {
    reply: ActorHeartbeat,
  }),
  row(
    "_.discovery.register",
    WorkerRegistration,
    [["worker"], ["discovery"]],
    "A worker asks to be listed.",
    {
      reply: RegistrationReply,
    },
  ),
  row(
    "_.discovery.deregister",
    WorkerDeregistration,
    [["worker"], ["discovery"]],
    "A worker leaves.",
  ),
  row("_.discovery.get-catalog", null, [["any"], ["discovery"]], "Asks for the catalog.", {
    reply: Catalog,
  }),
  row(
    "_.discovery.catalog.published",
    Catalog,
    [["discovery"], ["any"]],
    "The catalog has changed.",
  ),
  row(
    "<model>.prefill-router.route-prefill",
    RoutePrefill,
    [["frontend"], ["prefill-router"]],
    "Chooses a prefill worker and dispatches.",
    { queue: routersQueue },
  ),
  row(
    "<model>.decode-router.route-decode",
    RouteDecode,
    [["frontend"], ["decode-router"]],
    "Chooses a decode or aggregated worker and dispatches.",
    { queue: routersQueue },
  ),
  row(
    "<model>.prefill-router.route-prefill.<id>",
    RoutePrefill,
    [["frontend"], ["prefill-router"]],
    "The same to one router, while another of the group does not answer.",
  ),
  row(
    "<model>.prefill-router.explain-route",
    RoutePrefill,
    [["frontend"], ["prefill-router"]],
    "Says which prefill worker would be chosen and why. `work` is empty; nothing is booked or sent.",
    { queue: routersQueue, reply: RouteExplained },
  ),
  row(
    "<model>.decode-router.route-decode.<id>",
    RouteDecode,
    [["frontend"], ["decode-router"]],
    "The same to one router, while another of the group does not answer.",
  ),
  row(
    "<model>.decode-router.explain-route",
    RouteDecode,
    [["frontend"], ["decode-router"]],
    "Says which decode or aggregated worker would be chosen and why. `work` is empty, and so is `handoff` where a prefill would come first.",
    { queue: routersQueue, reply: RouteExplained },
  ),
  ...routers.flatMap((role) => [
    row(
      `<model>.${role}.cancel`,
      CancelRoute,
      [["frontend"], [role]],
      "Drops requests from queues and bookings.",
    ),
    row(`<model>.${role}.booked`, Booking, [[role], [role]], "A router has booked capacity."),
    row(
      `<model>.${role}.session-bound`,
      SessionBound,
      [[role], [role]],
      "A router says where a session's requests go.",
    ),
  ]),
  row(
    "<model>.worker.prefill.<id>",
    Prefill,
    [["prefill-router"], ["worker"]],
    "Computes a prompt's KV and stages it.",
  ),
  row(
    "<model>.worker.decode.<id>",
    Decode,
    [["decode-router"], ["worker"]],
    "Fetches a staged KV and generates.",
  ),
  row(
    "<model>.worker.generate.<id>",
    Generate,
    [["decode-router"], ["worker"]],
    "Computes prompt and output.",
  ),
  row("<model>.worker.release.<id>", Release, [["frontend"], ["worker"]], "Frees one staged KV."),
  row(
    "<model>.worker.extend.<id>",
    Extend,
    [["frontend"], ["worker"]],
    "Begins the lease of one staged KV anew.",
  ),
  row("<model>.worker.abort.<id>", Abort, [["frontend"], ["worker"]], "Drops requests."),
  row(
    "<model>.worker.abort",
    Abort,
    [["frontend"], ["worker"]],
    "Drops requests, wherever they are.",
  ),
  row(
    "<model>.worker.get-frames.<id>",
    GetFrames,
    [["frontend"], ["worker"]],
    "Asks for frames that were lost.",
    { reply: MissingFrames },
  ),
  row(
    "<model>.worker.get-kv-events.<id>",
    GetKvEvents,
    [["kv-event-aggregator"], ["worker"]],
    "Asks for KV events that were lost, or all.",
    { reply: KvHistory },
  ),
  row(
    "<model>.worker.get-artifact.<id>",
    GetArtifact,
    [["frontend"], ["worker"]],
    "Asks for tokenizer and chat template.",
    { reply: Artifact },
  ),
  row("<model>.worker.load.reported.<id>", LoadReport, [["worker"], followers], "A worker's load."),
  row(
    "<model>.worker.kv.changed.<id>",
    KvEvents,
    [["worker"], ["kv-event-aggregator"]],
    "A worker's cache has changed.",
  ),
  row(
    "<model>.kv-event-aggregator.kv.feed",
    KvFeed,
    [["kv-event-aggregator"], routers],
    "The ordered feed of a model's KV events.",
  ),
  row(
    "<model>.kv-event-aggregator.get-kv-positions",
    null,
    [routers, ["kv-event-aggregator"]],
    "Asks which ranks are on the feed, and how far it has come.",
    { reply: KvPositions },
  ),
  row(
    "<model>.kv-event-aggregator.get-kv-history",
    GetKvHistory,
    [routers, ["kv-event-aggregator"]],
    "Asks for what is missing of one rank, or for a dump.",
    { reply: KvHistory },
  ),
  row(
    "<model>.frontend.queued.<id>",
    Queued,
    [routers, ["frontend"]],
    "A router holds the request in its queue.",
  ),
  row(
    "<model>.frontend.dispatched.<id>",
    Dispatched,
    [routers, ["frontend"]],
    "A router has sent the request to a worker.",
  ),
  row(
    "<model>.frontend.prefilled.<id>",
    PrefillDone,
    [["worker"], ["frontend"]],
    "A prefill has ended well.",
  ),
  row(
    "<model>.frontend.tokens.<id>",
    TokenFrame,
    [["worker"], ["frontend"]],
    "One engine step's tokens.",
  ),
  row(
    "<model>.frontend.failed.<id>",
    LegFailed,
    [[...routers, "worker"], ["frontend"]],
    "A leg has failed.",
  ),
  row(
    "_.frontend.explain-request",
    ExplainRequest,
    [["any"], ["frontend"]],
    "Says where a request would go and why. Nothing is booked or sent.",
    { queue: frontendsQueue, reply: RequestExplained },
  ),
  row(
    "<model>.frontend.request.transitions",
    RequestTransitions,
    [["frontend"], ["any"]],
    "State changes of requests.",
  ),
];

/** The row of a subject as it stands on the bus; undefined for replies and for what is not ours. */
export function subjectRow(subject: string): SubjectRow | undefined {
  return rowsByKey.get(keyOf(subject.split(".")));
}

/** Rows by what does not vary: the tokens after the model, `<id>` left out. */
const rowsByKey: ReadonlyMap<string, SubjectRow> = new Map(
  subjectTable
    .filter((entry) => entry.pattern.startsWith(root))
    .map((entry) => [keyOf(entry.pattern.replace("<id>", "x").split(".")), entry]),
);

/** Actor and verb, and whether an id follows: `worker.abort` and `worker.abort.<id>` are two subjects. */
function keyOf(tokens: readonly string[]): string {
  const [actor = "", ...rest] = tokens.slice(4);
  const dotted =
    rest[0] === "load" || rest[0] === "kv" || rest[0] === "catalog" || rest[0] === "request";
  const verbLength = dotted ? 2 : 1;
  const verb = rest.slice(0, verbLength).join(".");
  return `${actor}.${verb}${rest.length > verbLength ? ".<id>" : ""}`;
}
