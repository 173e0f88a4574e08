import { maxSchemaDepth, maxSchemaLength } from "@baton/text";
import { z } from "zod";
import { boolean, closedObject, text } from "./field-schemas.ts";

/** The form that the output must have. */
export const responseFormatSchema = closedObject({
  type: z.enum(["text", "json_object", "json_schema"], {
    error: "must be 'text', 'json_object' or 'json_schema'",
  }),
  json_schema: closedObject({
    name: text().regex(/^[A-Za-z0-9_-]{1,64}$/, {
      error: "must be 1 to 64 of A-Z a-z 0-9 _ -",
    }),
    description: text().nullish(),
    schema: z
      .record(z.string(), z.unknown(), { error: "must be a JSON schema" })
      .refine((schema) => isShallow(schema, maxSchemaDepth), {
        error: `must be at most ${maxSchemaDepth} levels deep`,
        abort: true,
      })
      .refine((schema) => JSON.stringify(schema).length <= maxSchemaLength, {
        error: `must be at most ${maxSchemaLength} characters`,
      }),
    strict: boolean().nullish(),
  }).nullish(),
}).superRefine((format, context) => {
  const isSchema = format.type === "json_schema";
  const hasSchema = (format.json_schema ?? null) !== null;
  if (isSchema === hasSchema) return;
  const message = isSchema ? "is required" : "needs type to be 'json_schema'";
  context.addIssue({ code: "custom", path: ["json_schema"], message });
});

/** A checked `response_format`. */
export type ResponseFormat = z.infer<typeof responseFormatSchema>;

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((one) => isShallow(one, levels - 1));
}
