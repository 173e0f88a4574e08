import { z } from "zod";
import { type MessageType, schemaMessage } from "../message-type.ts";

/** What a worker does for a request. */
export const workerTypes = ["prefill", "decode", "aggregated"] as const;
/** One of a worker's types. */
export type WorkerType = (typeof workerTypes)[number];

/** A worker set's own word on how it is to be routed (`dynamo-semantics` 1.4). It holds whole: what is absent is the default. */
export const routerConfigSchema = z.object({
  /** A router mode, e.g. `kv`. */
  mode: z.string(),
  /** Parameters of the mode's policy by name, e.g. `overlap_score_credit`. */
  parameters: z.record(z.string(), z.number()).optional(),
  /** Seconds for which a session stays with its worker; absent: no affinity. */
  sessionAffinityTtlSecs: z.number().int().min(1).max(31_536_000).optional(),
});
/** A worker set's own word on how it is to be routed. */
export type RouterConfig = z.infer<typeof routerConfigSchema>;

/** What a worker's engine serves, the same for all workers of a set. */
export const modelCardSchema = z.object({
  model: z.string(),
  /** Endpoints that the model answers: `chat`, `completions`. */
  modelType: z.array(z.string()),
  engine: z.string(),
  blockSize: z.number().int().min(1),
  /** Enters every block hash; empty for none. */
  hashSalt: z.string(),
  /** Most tokens of prompt and output together. */
  contextLength: z.number().int().min(1),
  /** Hex SHA-256 of the tokenizer artifact, chat template included. */
  tokenizerChecksum: z.string(),
  /** What the engine's KV bytes are, by field; null for engines whose KV never moves through Baton. */
  descriptor: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullable(),
  /** Options of a request that the engine can serve, e.g. `logprobs`, `n`, `seed`, `prompt_logprobs`. */
  capabilities: z.array(z.string()),
  /** How the hop to these workers is routed; null or absent: as the router's own configuration says. */
  routerConfig: routerConfigSchema.nullish(),
});
/** What a worker's engine serves. */
export type ModelCard = z.infer<typeof modelCardSchema>;

/** Most data-parallel ranks of one worker: whoever routes keeps a row for each. */
const maxDpSize = 1_024;
/** Ranks are whole numbers of 32 bits. */
const maxDpRank = 2 ** 32 - 1;

/** What one worker can hold and run. */
export const workerCapacitySchema = z.object({
  totalBlocks: z.number().int().min(0),
  maxSequences: z.number().int().min(0),
  maxBatchedTokens: z.number().int().min(0),
  dpStartRank: z.number().int().min(0).max(maxDpRank),
  dpSize: z.number().int().min(1).max(maxDpSize),
});
/** What one worker can hold and run. */
export type WorkerCapacity = z.infer<typeof workerCapacitySchema>;

const registrationSchema = z.object({
  id: z.string(),
  generation: z.number().int(),
  namespace: z.string(),
  workerType: z.enum(workerTypes),
  /** Default: the type. A set is (namespace, model, worker type, set). */
  set: z.string(),
  /** OR of ANDs of worker types that must live for this one to serve; empty: none. */
  needs: z.array(z.array(z.enum(workerTypes))),
  card: modelCardSchema,
  capacity: workerCapacitySchema,
  /** Domain to value, e.g. `rack` to `r1`. */
  topology: z.record(z.string(), z.string()),
  taints: z.array(z.string()),
  /** The domain that KV transfers stay in, with how strictly; null for no rule. */
  kvTransfer: z
    .object({
      domain: z.string(),
      enforcement: z.enum(["required", "preferred"]),
      preferredWeight: z.number().min(0).max(1).nullable(),
    })
    .nullable(),
  host: z.string(),
  pid: z.number().int(),
  admin: z.string().nullable(),
});

/** A worker's request to be listed. Worker to Discovery, at start and whenever Discovery does not know it. */
export type WorkerRegistration = z.infer<typeof registrationSchema>;
/** The schema, for messages that hold registrations. */
export const workerRegistrationSchema = registrationSchema;

// v1: map
export const WorkerRegistration: MessageType<WorkerRegistration> = schemaMessage(
  "worker-registration",
  1,
  registrationSchema,
);

const replySchema = z.object({
  accepted: z.boolean(),
  /** Discovery's epoch. */
  epoch: z.number().int(),
  /** Card fields that differ from the serving group's; empty if accepted. */
  conflicts: z.array(z.object({ field: z.string(), serving: z.string(), offered: z.string() })),
  /** One sentence for a log, null if accepted. */
  why: z.string().nullable(),
  /** A later start of the worker was listed and is lost: who asks is to go on as a generation after it, and to ask again. */
  lostGeneration: z.number().int().optional(),
});

/** Discovery's answer to a registration. */
export type RegistrationReply = z.infer<typeof replySchema>;

// v1: map
export const RegistrationReply: MessageType<RegistrationReply> = schemaMessage(
  "registration-reply",
  1,
  replySchema,
);

const deregistrationSchema = z.object({ id: z.string(), generation: z.number().int() });

/** A worker leaves. Worker to Discovery, when its drain starts. */
export type WorkerDeregistration = z.infer<typeof deregistrationSchema>;

// v1: map
export const WorkerDeregistration: MessageType<WorkerDeregistration> = schemaMessage(
  "worker-deregistration",
  1,
  deregistrationSchema,
);
