import { z } from "zod";
import { boolean, closedObject, integer, number, text } from "./field-schemas.ts";

/** Most bytes of a session's id, in UTF-8. */
export const maxSessionBytes = 256;
/** Most bytes of a cache salt, in UTF-8. */
export const maxSaltBytes = 1_024;
/** The highest data-parallel rank, and what other systems' clients send for none. */
export const maxRank = 2 ** 32 - 1;
const maxTaints = 64;
const maxTaintBytes = 256;

const workerIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether a text may be a worker's id. */
export function isWorkerId(value: string): boolean {
  return workerIdPattern.test(value);
}

/** Why a text may not be a label of at most `maxBytes` bytes, which two clients must be able to write alike; null if it may. */
export function labelProblem(value: string, maxBytes: number): string | null {
  if (!value.isWellFormed()) return "must be well-formed Unicode";
  return Buffer.byteLength(value) > maxBytes ? `must be at most ${maxBytes} bytes` : null;
}

const label = (maxBytes: number) =>
  text().superRefine((value, context) => {
    const message = labelProblem(value, maxBytes);
    if (message !== null) context.addIssue({ code: "custom", message });
  });
const filled = (maxBytes: number) => label(maxBytes).min(1, { error: "must not be empty" });
const worker = () =>
  text().refine(isWorkerId, { error: "must be a worker's id: 1 to 64 of A-Z a-z 0-9 _ -" });
const rank = () => integer(0, maxRank);
const taints = () =>
  z
    .array(filled(maxTaintBytes), { error: "must be an array of taints" })
    .max(maxTaints, { error: `must hold at most ${maxTaints} taints` });
const weights = () =>
  z
    .record(z.string(), z.number({ error: "must be a number" }), {
      error: "must map taints to weights",
    })
    .refine((map) => Object.keys(map).length <= maxTaints, {
      error: `must hold at most ${maxTaints} taints`,
    });
const outputTokens = () => integer(1, 2 ** 31 - 1);

/** The salt of a tenant's caches. */
export const cacheSaltSchema = label(maxSaltBytes);

/** Baton's own object in a body. */
export const batonSchema = closedObject({
  include: z
    .array(z.enum(["route", "timing"], { error: "must be 'route' or 'timing'" }), {
      error: "must be an array of 'route' and 'timing'",
    })
    .nullish(),
  query_only: boolean().nullish(),
  session: closedObject({
    id: filled(maxSessionBytes),
    parent: filled(maxSessionBytes).nullish(),
  }).nullish(),
  allowed_workers: z
    .array(worker(), { error: "must be an array of workers' ids" })
    .min(1, { error: "must hold at least one worker" })
    .max(4_096, { error: "must hold at most 4096 workers" })
    .nullish(),
  prefill_worker: worker().nullish(),
  decode_worker: worker().nullish(),
  prefill_dp_rank: rank().nullish(),
  decode_dp_rank: rank().nullish(),
  constraints: closedObject({
    required: taints().nullish(),
    preferred: weights().nullish(),
  }).nullish(),
  router: closedObject({
    overlap_score_credit: number(0, Number.MAX_VALUE).nullish(),
    prefill_load_scale: number(0, Number.MAX_VALUE).nullish(),
    router_temperature: number(0, Number.MAX_VALUE).nullish(),
    assume_kv_reuse: boolean().nullish(),
    track_prefill_tokens: boolean().nullish(),
  }).nullish(),
  expected_output_tokens: outputTokens().nullish(),
});

const unserved = () => z.unknown().optional();

/** What of the `nvext` object means the same here. What has another meaning there is refused before the schema is asked. */
export const nvextSchema = closedObject({
  annotations: z
    .array(text(), { error: "must be an array of strings" })
    .max(64, { error: "must hold at most 64 annotations" })
    .nullish(),
  backend_instance_id: worker().nullish(),
  prefill_worker_id: worker().nullish(),
  decode_worker_id: worker().nullish(),
  dp_rank: rank().nullish(),
  prefill_dp_rank: rank().nullish(),
  cache_salt: cacheSaltSchema.nullish(),
  routing_constraints: closedObject({
    required_taints: taints().nullish(),
    preferred_taints: weights().nullish(),
  }).nullish(),
  agent_hints: closedObject({
    priority: integer(-(2 ** 31), 2 ** 31 - 1).nullish(),
    strict_priority: integer(0, 2 ** 32 - 1).nullish(),
    osl: outputTokens().nullish(),
    speculative_prefill: boolean().nullish(),
    latency_sensitivity: number(-Number.MAX_VALUE, Number.MAX_VALUE).nullish(),
  }).nullish(),
  extra_fields: z
    .array(z.enum(["worker_id", "timing"], { error: "must be 'worker_id' or 'timing' here" }), {
      error: "must be an array of 'worker_id' and 'timing'",
    })
    .nullish(),
  request_timestamp_ms: number(0, Number.MAX_VALUE).nullish(),
  router: closedObject({
    ttft_target: number(0, Number.MAX_VALUE).nullish(),
    itl_target: number(0, Number.MAX_VALUE).nullish(),
  }).nullish(),
  greed_sampling: unserved(),
  use_raw_prompt: unserved(),
  token_data: unserved(),
  max_thinking_tokens: unserved(),
  metadata_upload: unserved(),
});

/** A checked `baton` object. */
export type BatonFields = z.infer<typeof batonSchema>;
/** A checked `nvext` object. */
export type NvextFields = z.infer<typeof nvextSchema>;
