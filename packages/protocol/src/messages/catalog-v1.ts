import { z } from "zod";
import { type MessageType, schemaMessage } from "../message-type.ts";
import { workerRegistrationSchema, workerTypes } from "./worker-registration-v1.ts";

/** Why a model is not ready. */
export const whyCodes = [
  "missing_prefill",
  "missing_decode",
  "ambiguous_sets",
  "card_conflict",
  "activating",
  "no_workers",
] as const;
/** One of the reasons why a model is not ready. */
export type WhyCode = (typeof whyCodes)[number];

const why = z.object({ code: z.enum(whyCodes), text: z.string() });
/** Why a model is not ready, for programs and for people. */
export type Why = z.infer<typeof why>;

const workerEntry = z.object({
  registration: workerRegistrationSchema,
  /** `live` serves; `lost` fell silent and may come back; `refused` conflicts with its group; `draining` takes no more. */
  state: z.enum(["live", "draining", "lost", "refused"]),
  /** Of a refused worker: what differs. */
  conflicts: z.array(z.object({ field: z.string(), serving: z.string(), offered: z.string() })),
});
/** One worker that Discovery knows. */
export type CatalogWorker = z.infer<typeof workerEntry>;

const modelEntry = z.object({
  model: z.string(),
  /** Whether the workers' needs are met. Whether a router serves the route is for routers to say. */
  ready: z.boolean(),
  why: why.nullable(),
  sets: z.array(
    z.object({
      workerType: z.enum(workerTypes),
      set: z.string(),
      live: z.number().int(),
      lost: z.number().int(),
      refused: z.number().int(),
    }),
  ),
});
/** What Discovery says about one model. */
export type CatalogModel = z.infer<typeof modelEntry>;

const schema = z.object({
  namespace: z.string(),
  /** Discovery's generation: a new one starts from nothing. */
  epoch: z.number().int(),
  /** Counts up by one with each change in an epoch. */
  revision: z.number().int(),
  /** False while a restarted Discovery still waits for workers to come back: followers keep what they have. */
  complete: z.boolean(),
  workers: z.array(workerEntry),
  models: z.array(modelEntry),
});

/** All that Discovery knows of a namespace. Published on each change; also the answer to `get-catalog`. */
export type Catalog = z.infer<typeof schema>;

// v1: map
export const Catalog: MessageType<Catalog> = schemaMessage("catalog", 1, schema);
