import { modelName } from "@baton/protocol";
import { defineOptions, type OptionSet } from "@baton/runtime";
import { z } from "zod";

/** The options of a KvEventAggregator. */
export interface KvEventAggregatorConfig {
  readonly model?: string | undefined;
  readonly bufferedBatches: number;
  readonly recoveryAttempts: number;
  readonly recoveryBackoffMs: number;
  readonly recoveryTimeoutMs: number;
  readonly recoveryConcurrency: number;
  readonly lostHoldMs: number;
  readonly maxSources: number;
  readonly maxHistoryAsks: number;
  readonly dumpKeepMs: number;
  readonly dumpCacheBytes: number;
}

const count = z.coerce.number().int().min(1);
const ms = z.coerce.number().min(0);

/** The options of a KvEventAggregator, declared once. */
export const kvEventAggregatorOptions: OptionSet<KvEventAggregatorConfig> = defineOptions(
  "kv-event-aggregator",
  {
    model: z
      .string()
      .refine(isModelName, "not a model's name")
      .optional()
      .describe("The one model whose KV events are gathered. Default: all models."),
    bufferedBatches: count
      .default(1_024)
      .describe(
        "Batches of one rank that wait while a gap is recovered. Over it the oldest goes, counted.",
      ),
    recoveryAttempts: count
      .default(8)
      .describe("How often a worker is asked for what is missing before the feed goes on without."),
    recoveryBackoffMs: ms
      .default(200)
      .describe("Wait after the first failed ask, in ms. It doubles with each, up to 5 s."),
    recoveryTimeoutMs: ms.default(5_000).describe("How long a worker has to answer, in ms."),
    recoveryConcurrency: count.default(16).describe("Most workers that are asked at once."),
    lostHoldMs: ms
      .default(5_000)
      .describe(
        "How long a worker that fell silent may come back before its generation is given up for good, in ms.",
      ),
    maxSources: count.default(10_000).describe("Most ranks of all workers that are followed."),
    maxHistoryAsks: count
      .default(4_096)
      .describe(
        "Most asks of routers for what they lack that wait for workers at once. One more is told to ask again later.",
      ),
    dumpKeepMs: ms
      .default(2_000)
      .describe("How long a worker's dump answers for other routers that ask for it, in ms."),
    dumpCacheBytes: z.coerce
      .number()
      .int()
      .min(0)
      .default(67_108_864)
      .describe("Most bytes of workers' dumps that are kept. Over it the oldest goes."),
  },
);

function isModelName(text: string): boolean {
  try {
    return modelName(text) === text;
  } catch {
    return false; // the option's own message says what is wrong
  }
}
