import { type ErrorCode, type ErrorRule, errorRules } from "@baton/protocol";
import { z } from "zod";
import type { ApiRoute, RouteDoc } from "../routes/api-route.ts";
import { errorAnswerSchema } from "./answer-schemas.ts";

/** A JSON schema or another part of the document. */
export type JsonObject = { readonly [key: string]: unknown };

/** The description of the API, as OpenAPI 3.1. */
export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> };
}

/** One path with one method. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly JsonObject[];
  readonly requestBody?: JsonObject;
  readonly responses: Readonly<Record<string, JsonObject>>;
}

const description =
  "The API of a Baton Frontend: OpenAI's chat and text completions, and what is Baton's own. " +
  "null for an optional field is as if it were absent. A field that would change the answer and is not served is refused " +
  "with 400 `unsupported`; one without effect, or unknown, is taken at the top level of a body. " +
  "Every error has the shape of `Error`.";

const jsonContent = (schema: JsonObject) => ({ "application/json": { schema } });
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const idHeader = { "x-request-id": { schema: { type: "string" } } };

/** Describes the routes by the schemas that check their bodies. */
export function openApiDocument(routes: readonly ApiRoute[]): OpenApiDocument {
  const schemas: Record<string, JsonObject> = { Error: schemaOf(errorAnswerSchema) };
  const paths: Record<string, Record<string, Operation>> = {};
  for (const { method, docs } of routes) {
    for (const doc of docs) {
      paths[doc.path] ??= {};
      const operations = paths[doc.path];
      if (operations !== undefined) operations[method.toLowerCase()] = operation(doc, schemas);
    }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Baton", version: "1", description },
    paths,
    components: { schemas },
  };
}

function operation(doc: RouteDoc, schemas: Record<string, JsonObject>): Operation {
  const { name, summary, body } = doc;
  if (body !== undefined) schemas[`${name}Body`] = bodySchema(body);
  return {
    operationId: `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
    summary,
    ...(doc.description === undefined ? {} : { description: doc.description }),
    parameters: [
      ...[...doc.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
        name: parameter,
        in: "path",
        required: true,
        schema: { type: "string" },
      })),
      {
        name: "x-request-id",
        in: "header",
        schema: { type: "string", pattern: "^[\\x21-\\x7e]{1,200}$" },
      },
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: jsonContent(reference(`${name}Body`)) } }),
    responses: { ...success(doc, schemas), ...errors(doc.errors) },
  };
}

function success(doc: RouteDoc, schemas: Record<string, JsonObject>): Record<string, JsonObject> {
  const { answer, chunk, name } = doc;
  if (typeof answer === "string") {
    return { "200": { description: doc.summary, headers: idHeader, content: { [answer]: {} } } };
  }
  schemas[`${name}Answer`] = schemaOf(answer);
  if (chunk !== undefined) schemas[`${name}Event`] = schemaOf(chunk);
  const content = {
    ...jsonContent(reference(`${name}Answer`)),
    ...(chunk === undefined ? {} : { "text/event-stream": { schema: reference(`${name}Event`) } }),
  };
  return { "200": { description: doc.summary, headers: idHeader, content } };
}

/** One answer for each status, with all codes that have it. */
function errors(codes: readonly ErrorCode[]): Record<string, JsonObject> {
  const byStatus = new Map<number, (readonly [ErrorCode, ErrorRule])[]>();
  for (const code of codes) {
    const rule = errorRules[code];
    byStatus.set(rule.status, [...(byStatus.get(rule.status) ?? []), [code, rule]]);
  }
  const answers = [...byStatus].map(([status, rules]) => [
    String(status),
    {
      description: rules.map(([code, { meaning }]) => `\`${code}\`: ${meaning}`).join("\n\n"),
      headers: {
        ...idHeader,
        ...(status === 503 || status === 529 || status === 429
          ? { "retry-after": { schema: { type: "string" } } }
          : {}),
      },
      content: jsonContent(reference("Error")),
    },
  ]);
  return Object.fromEntries(answers) as Record<string, JsonObject>;
}

/** A body's schema: null is allowed wherever the field may be absent. */
function bodySchema(body: z.ZodType): JsonObject {
  return withNulls(schemaOf(body));
}

function withNulls(schema: JsonObject): JsonObject {
  const properties = schema.properties as Readonly<Record<string, JsonObject>> | undefined;
  if (properties === undefined) return schema;
  const required = new Set((schema.required ?? []) as readonly string[]);
  const entries = Object.entries(properties).map(([field, property]) => {
    const inner = field === "sampling_params" ? withNulls(property) : property;
    return [field, required.has(field) ? inner : { anyOf: [inner, { type: "null" }] }];
  });
  return { ...schema, properties: Object.fromEntries(entries) };
}

function schemaOf(schema: z.ZodType): JsonObject {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}
