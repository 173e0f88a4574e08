import { checkPolicyParameters, parseRouterMode } from "@baton/kv-router";
import { issueWords, type RouterConfig, routerConfigSchema } from "@baton/protocol";
import { z } from "zod";

const strictSchema = z.strictObject(routerConfigSchema.shape);

/** `--router-config`: a text that holds a router configuration as JSON. What routers could not read is refused here. */
export const routerConfigOption = z
  .string()
  .transform((text, context): RouterConfig => {
    const parsed = readRouterConfig(text);
    if (typeof parsed !== "string") return parsed;
    context.addIssue({ code: "custom", message: parsed });
    return z.NEVER;
  })
  .optional()
  .describe(
    'How this worker\'s pool is routed, as JSON: {"mode": "kv", "parameters": {…}, "sessionAffinityTtlSecs": 600}. Default: as the routers are configured.',
  );

/** The configuration, or what is wrong with it. */
function readRouterConfig(text: string): RouterConfig | string {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return "is not JSON";
  }
  const parsed = strictSchema.safeParse(json, issueWords);
  if (!parsed.success) {
    return parsed.error.issues
      .map(({ path, message }) => `${path.join(".") || "JSON"}: ${message}`)
      .join(", ");
  }
  const mode = parseRouterMode(parsed.data.mode);
  if (mode.kind === "refused") return mode.text;
  const faults = checkPolicyParameters(mode.mode, parsed.data.parameters ?? {});
  return faults.length === 0 ? parsed.data : faults.map((fault) => fault.text).join(", ");
}
