import { z } from "zod";
import { tokenPattern } from "../ids.ts";
import { type MessageType, schemaMessage } from "../message-type.ts";
import { actorRoles } from "../subjects.ts";

/** The states of an actor's life. `lost` is what others say of one that fell silent. */
export const actorStates = [
  "starting",
  "connecting",
  "syncing",
  "ready",
  "degraded",
  "draining",
  "stopped",
  "lost",
] as const;
/** One of the states of an actor's life. */
export type ActorState = (typeof actorStates)[number];

/** The states of a router's prefill route. */
export const activationStates = ["none", "pending", "active", "unavailable"] as const;
/** One of the states of a router's prefill route. */
export type ActivationState = (typeof activationStates)[number];

const schema = z.object({
  id: z.string().regex(tokenPattern),
  role: z.enum(actorRoles),
  namespace: z.string(),
  /** Null for actors that serve many models. */
  model: z.string().nullable(),
  /** Start in epoch ms, at least one more than the last known. */
  generation: z.number().int(),
  /** Counts up by one per heartbeat of a generation. */
  sequence: z.number().int(),
  /** Silence of three intervals and a failed probe means lost. */
  intervalMs: z.number(),
  state: z.enum(actorStates),
  /** Why the actor is not ready, null when it is. */
  why: z.string().nullable(),
  pid: z.number().int(),
  host: z.string(),
  /** `http://HOST:PORT` of the admin port, null if there is none. */
  admin: z.string().nullable(),
  /** Frontends only: `http://HOST:PORT` of the API. */
  api: z.string().nullable(),
  /** Workers only. */
  workerType: z.string().nullable(),
  set: z.string().nullable(),
  /** PrefillRouters only: each model's activation. A list: a model may have a name that no map takes as a key. */
  activation: z.array(z.object({ model: z.string(), state: z.enum(activationStates) })).nullable(),
  /** Discovery only: what it has published last, so that a follower that is behind asks. */
  catalog: z
    .object({ epoch: z.number().int(), revision: z.number().int(), complete: z.boolean() })
    .nullable(),
  /** The newest batch of KV events of each rank that has sent one, so that who has missed it asks. Absent but for workers. */
  kvBatches: z.array(z.object({ dpRank: z.number().int(), sequence: z.number().int() })).optional(),
});

/** An actor's life sign. Every actor, each interval and on each change of state; also the answer to a ping. */
export type ActorHeartbeat = z.infer<typeof schema>;

// v1: map
export const ActorHeartbeat: MessageType<ActorHeartbeat> = schemaMessage(
  "actor-heartbeat",
  1,
  schema,
);
