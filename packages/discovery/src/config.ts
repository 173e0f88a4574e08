import { defineOptions, type OptionSet } from "@baton/runtime";
import { z } from "zod";

/** The options of Discovery. */
export interface DiscoveryConfig {
  readonly lostOwnsMs: number;
  readonly waitingClaimMs: number;
  readonly forgetAfterMs: number;
  readonly maxWorkers: number;
}

/** The options of Discovery, declared once. */
export const discoveryOptions: OptionSet<DiscoveryConfig> = defineOptions("discovery", {
  lostOwnsMs: z.coerce
    .number()
    .min(0)
    .default(60_000)
    .describe(
      "How long a set whose workers are all lost keeps out workers with another card, in ms. They may come back until then.",
    ),
  waitingClaimMs: z.coerce
    .number()
    .min(0)
    .default(15_000)
    .describe(
      "How long a refused worker that does not ask again keeps its place before later ones, in ms.",
    ),
  forgetAfterMs: z.coerce
    .number()
    .min(0)
    .default(600_000)
    .describe("How long a lost worker is shown, in ms."),
  maxWorkers: z.coerce
    .number()
    .int()
    .min(1)
    .default(10_000)
    .describe("Most workers that are known at once. Lost ones make room, the longest lost first."),
});
