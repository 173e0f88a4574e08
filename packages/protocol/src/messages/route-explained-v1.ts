import { z } from "zod";
import { type MessageType, schemaMessage } from "../message-type.ts";
import { workerTypes } from "./worker-registration-v1.ts";

const count = () => z.number().int().min(0);

const candidateSchema = z.object({
  workerId: z.string(),
  workerType: z.enum(workerTypes),
  generation: count(),
  dpRank: count(),
  eligible: z.boolean(),
  /** What keeps it out, as selection names it; null if it is eligible. */
  why: z.string().nullable(),
  /** Lower is better; null if it has no finite one. */
  cost: z.number().nullable(),
  /** What the cost was made of, by name. */
  terms: z.record(z.string(), z.number()),
  /** Leading blocks of the prompt that the rank holds. */
  overlapBlocks: count(),
});

const schema = z.object({
  routerId: z.string(),
  /** The router mode that chose, e.g. `kv`. */
  mode: z.string(),
  /** In the router's order. */
  candidates: z.array(candidateSchema),
  /** Null if nobody would be chosen. */
  selected: z
    .object({
      workerId: z.string(),
      generation: count(),
      dpRank: count(),
      overlapBlocks: count(),
      /** The most blocks that any eligible candidate holds. */
      bestOverlapBlocks: count(),
    })
    .nullable(),
  /**
   * The error that the real request would get, as `[code, message, details]`. Null if it would be sent on, or, with
   * nobody selected, wait here.
   */
  refusal: z.tuple([z.string(), z.string(), z.record(z.string(), z.unknown())]).nullable(),
  /** What the topology of the chosen prefill worker asks of the decode worker; null for nothing. */
  decodeConstraints: z
    .object({
      requiredTaints: z.array(z.string()),
      preferredTaints: z.record(z.string(), z.number()),
    })
    .nullable(),
  /** Fields that the request sets and that this router does not look at. */
  ignored: z.array(z.string()),
});

/**
 * Where a router would send a request, and why. One router of a model to the Frontend that asked with a routing request
 * on `explain-route`. Nothing was booked or sent.
 */
export type RouteExplained = z.infer<typeof schema>;
/** How one rank fared. */
export type ExplainedCandidate = z.infer<typeof candidateSchema>;

// v1: map
export const RouteExplained: MessageType<RouteExplained> = schemaMessage(
  "route-explained",
  1,
  schema,
);
