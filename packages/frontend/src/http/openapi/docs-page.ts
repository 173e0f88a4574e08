import type { JsonObject, OpenApiDocument, Operation } from "./openapi-document.ts";

/** The description of the API as a page that needs nothing from elsewhere. */
export function docsPage(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const links = operations.map(
    ({ path, method, operation }) =>
      `<li><a href="#${escaped(operation.operationId)}">${method.toUpperCase()} ${escaped(path)}</a></li>`,
  );
  const sections = operations.map(({ path, method, operation }) =>
    operationSection(document, `${method.toUpperCase()} ${path}`, operation),
  );
  const { title, description } = document.info;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} API</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(title)} API</h1>
<p>${prose(description)}</p>
<p>The same for programs: <a href="/openapi.json">/openapi.json</a>.</p>
<ul>${links.join("")}</ul>
${sections.join("\n")}
</body>
</html>
`;
}

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}" +
  "code,td:first-child{font:14px ui-monospace,monospace}" +
  "table{border-collapse:collapse;width:100%}" +
  "td,th{border:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top}" +
  "h2{border-top:2px solid #ccc;padding-top:1rem;font-size:1.2rem}" +
  "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#8bf}td,th,h2{border-color:#444}}";

function operationSection(document: OpenApiDocument, title: string, operation: Operation): string {
  const { description, operationId, requestBody, responses, summary } = operation;
  const body = requestBody === undefined ? "" : bodyTable(document, requestBody);
  const answers = Object.entries(responses).map(
    ([status, answer]) => `<tr><td>${status}</td><td>${answerText(answer)}</td></tr>`,
  );
  return `<section id="${escaped(operationId)}">
<h2><code>${escaped(title)}</code></h2>
<p>${prose(summary)}${description === undefined ? "" : `<br>${prose(description)}`}</p>
${body}
<table><tr><th>status</th><th>answer</th></tr>${answers.join("")}</table>
</section>`;
}

function bodyTable(document: OpenApiDocument, requestBody: JsonObject): string {
  const content = requestBody.content as Readonly<Record<string, { readonly schema: JsonObject }>>;
  const schema = resolved(document, content["application/json"]?.schema ?? {});
  const rows = fieldRows(schema, "").map(
    ({ name, type, note }) =>
      `<tr><td>${escaped(name)}</td><td>${escaped(type)}</td><td>${prose(note)}</td></tr>`,
  );
  return `<table><tr><th>field</th><th>type</th><th></th></tr>${rows.join("")}</table>`;
}

function answerText(answer: JsonObject): string {
  const types = Object.keys((answer.content ?? {}) as JsonObject);
  const only = types.length === 1 && types[0] === "application/json";
  return `${prose(String(answer.description))}${only ? "" : ` (${escaped(types.join(", "))})`}`;
}

interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly note: string;
}

/** The fields of an object and of those in it, one a row. */
function fieldRows(schema: JsonObject, prefix: string): readonly FieldRow[] {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonObject>>;
  const required = new Set((schema.required ?? []) as readonly string[]);
  return Object.entries(properties).flatMap(([field, property]) => {
    const name = `${prefix}${field}`;
    const plain = withoutNull(property);
    const note = [
      ...(required.has(field) ? ["Required."] : []),
      ...(typeof plain.description === "string" ? [plain.description] : []),
    ].join(" ");
    const items = withoutNull((plain.items ?? {}) as JsonObject);
    return [
      { name, type: typeText(plain), note },
      ...fieldRows(plain, `${name}.`),
      ...fieldRows(items, `${name}[].`),
    ];
  });
}

/** What a schema allows, in a few words. */
function typeText(schema: JsonObject): string {
  const plain = withoutNull(schema);
  const all = (plain.anyOf ?? []) as readonly JsonObject[];
  if (all.length > 0) return all.map(typeText).join(" or ");
  if (Array.isArray(plain.enum)) return plain.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (plain.type === "array") {
    const most = plain.maxItems === undefined ? "" : ` of at most ${plain.maxItems}`;
    return `array${most} (${typeText((plain.items ?? {}) as JsonObject)})`;
  }
  const type = Array.isArray(plain.type) ? plain.type.filter((one) => one !== "null") : plain.type;
  return `${type ?? "anything"}${boundsText(plain)}`;
}

function boundsText({ minimum, maximum, exclusiveMinimum, maxLength }: JsonObject): string {
  const from = exclusiveMinimum === undefined ? minimum : `above ${exclusiveMinimum}`;
  const isOpen = typeof maximum !== "number" || maximum >= 2 ** 31 - 1;
  if (from !== undefined && !isOpen) return ` ${from} to ${maximum}`;
  if (from !== undefined && Number(minimum) > -(2 ** 31)) return ` from ${from}`;
  return maxLength === undefined ? "" : ` of at most ${maxLength} characters`;
}

/** The schema of a field's value, where the field may also be null. */
function withoutNull(schema: JsonObject): JsonObject {
  const all = schema.anyOf as readonly JsonObject[] | undefined;
  const others = all?.filter(({ type }) => type !== "null") ?? [];
  if (all === undefined || others.length === all.length) return schema;
  const [only] = others;
  const { anyOf, ...rest } = schema;
  return others.length === 1 ? { ...rest, ...only } : { ...rest, anyOf: others };
}

function resolved(document: OpenApiDocument, schema: JsonObject): JsonObject {
  const name = typeof schema.$ref === "string" ? schema.$ref.split("/").at(-1) : undefined;
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
}

/** Text with its code marked, and a line for each paragraph. */
function prose(text: string): string {
  return escaped(text)
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
    .replaceAll("\n\n", "<br>");
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
