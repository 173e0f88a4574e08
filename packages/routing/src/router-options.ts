import { type BuiltRouterMode, builtRouterModes, parseRouterMode } from "@baton/kv-router";
import type { RouterRole } from "@baton/protocol";
import { defineOptions, type OptionSet } from "@baton/runtime";
import { z } from "zod";
import type { DeskLimits } from "./desk-policy.ts";

/** Options that both roles share. */
export interface RouterSettings extends DeskLimits {
  readonly routerMode: BuiltRouterMode;
}

const routerMode = z
  .string()
  .default("least-loaded")
  .describe(`How a worker is chosen among those that may: ${builtRouterModes.join(", ")}.`)
  .transform((name, context): BuiltRouterMode => {
    const parsed = parseRouterMode(name);
    if (parsed.kind === "built") return parsed.mode;
    context.addIssue({ code: "custom", message: parsed.text });
    return z.NEVER;
  });

/** The options of a router, of either role. */
export function routerOptions(role: RouterRole): OptionSet<RouterSettings> {
  return defineOptions(role, {
    routerMode,
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
      .describe("Milliseconds that a worker is left out after a dispatch found nobody there."),
  });
}
