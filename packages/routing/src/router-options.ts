import type { RouterRole } from "@baton/protocol";
import { defineOptions, type OptionSet } from "@baton/runtime";
import { z } from "zod";
import type { DeskLimits } from "./desk-policy.ts";
import { type PolicyFlags, policyOptions } from "./policy/policy-options.ts";

/** Options that both roles share. */
export type RouterSettings = DeskLimits & PolicyFlags;

/** The options of a router, of either role. */
export function routerOptions(role: RouterRole): OptionSet<RouterSettings> {
  return defineOptions(role, {
    ...policyOptions,
    queueLimit: z
      .number()
      .int()
      .min(0)
      .max(1_000_000)
      .default(1_024)
      .describe(
        "Requests of a model that may wait here, and as many again with staged KV; more are refused. 0: none waits.",
      ),
    bookingLimit: z
      .number()
      .int()
      .min(1)
      .max(10_000_000)
      .default(65_536)
      .describe("Bookings of a model that are held; a request that finds no place is refused."),
    bookingGraceMs: z
      .number()
      .min(0)
      .max(60_000)
      .default(2_000)
      .describe("Milliseconds that a booking may be missing from its worker's reports."),
    refusalMs: z
      .number()
      .min(0)
      .max(60_000)
      .default(1_000)
      .describe(
        "Milliseconds that a worker is left out after it refused a request, or a dispatch found nobody there.",
      ),
  });
}
