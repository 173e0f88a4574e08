import { policyFileSchema } from "@baton/routing";
import { z } from "zod";

/** `docs/policy.schema.json`: the policy file for editors that complete and check YAML by a JSON schema. */
export function policySchema(): string {
  const schema = z.toJSONSchema(policyFileSchema, { io: "input" });
  return `${JSON.stringify({ title: "Baton policy file", ...schema }, null, 2)}\n`;
}
