/** Hot path: once per request. */
import { ServingError } from "@baton/protocol";
import type { z } from "zod";

/** A body before its schema has been asked. */
export type RawBody = Readonly<Record<string, unknown>>;

/** Clients write null for what they do not set. Throws `invalid_request` for what is no object. */
export function withoutNulls(raw: unknown): RawBody {
  if (!isObject(raw)) {
    throw new ServingError("invalid_request", { problem: "the body must be a JSON object" });
  }
  return strip(raw);
}

/** The same for one field of a body, if it is an object. */
export function fieldWithoutNulls(body: RawBody, field: string): RawBody {
  const value = body[field];
  return isObject(value) ? { ...body, [field]: strip(value) } : body;
}

function isObject(value: unknown): value is RawBody {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function strip(object: RawBody): RawBody {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => (value ?? null) !== null));
}

/** Most values in a body's lists and maps, token ids aside. The schema's work is bounded by it. */
const maxValues = 65_536;
const maxDepth = 8;
/** Fields whose lists are read by plain loops. */
const listFields: ReadonlySet<string> = new Set(["prompt", "token_ids", "tokens"]);

/** Throws `invalid_request` for a body that holds more than anybody needs. */
export function refuseTooMuch(body: RawBody): void {
  let left = maxValues;
  const count = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || left < 0) return;
    const values = Object.values(value);
    left -= values.length;
    if (depth < maxDepth) for (const one of values) count(one, depth + 1);
  };
  for (const [field, value] of Object.entries(body)) {
    if (!listFields.has(field)) count(value, 0);
    if (left < 0) throw invalid(field, `${field} holds more than ${maxValues} values`);
  }
}

/** The body as its schema gives it. Throws `invalid_request` with the field at fault in `param`. */
export function check<T>(schema: z.ZodType<T>, body: RawBody): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = deepest(parsed.error.issues[0]);
  if (issue?.code === "unrecognized_keys") {
    const param = fieldName([...issue.path, issue.keys[0] ?? ""]);
    throw invalid(param, `${param} is not known`);
  }
  const param = fieldName(issue?.path ?? []);
  throw invalid(param, `${param} ${missing(issue, body) ? "is required" : issue?.message}`);
}

type Issue = z.core.$ZodIssue;

/** Of a field that may be several things, what is wrong with the one thing that it seems to be. */
function deepest(issue: Issue | undefined): Issue | undefined {
  if (issue?.code !== "invalid_union") return issue;
  for (const [first] of issue.errors) {
    // A type that does not fit is what the union says itself.
    if (first === undefined || (first.code === "invalid_type" && first.path.length === 0)) continue;
    return deepest({ ...first, path: [...issue.path, ...first.path] });
  }
  return issue;
}

function missing(issue: Issue | undefined, body: unknown): boolean {
  if (issue === undefined || issue.path.length === 0) return false;
  let holder: unknown = body;
  for (const part of issue.path.slice(0, -1))
    holder = (holder as Record<PropertyKey, unknown>)[part];
  return (
    typeof holder === "object" && holder !== null && !Object.hasOwn(holder, issue.path.at(-1) ?? "")
  );
}

/** `messages[0].content`, as a client's author would write it. */
function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, part) => {
    if (typeof part === "number") return `${name}[${part}]`;
    return name === "" ? String(part) : `${name}.${String(part)}`;
  }, "");
}

/** The error of a field, whose name the problem begins with. */
export function invalid(param: string, problem: string): ServingError {
  return new ServingError("invalid_request", { param, problem });
}
