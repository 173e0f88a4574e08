import { issueWords, ServingError } from "@baton/protocol";
import { z } from "zod";
import type { OptionSet } from "./actor.ts";

/** How an option is written: `--flag` alone, `--flag VALUE`, or `--flag VALUE` several times. */
export type OptionKind = "boolean" | "number" | "text" | "list";

/** One option of a set, as flags, environment and docs know it. */
export interface OptionField {
  /** Key in the configuration, camelCase. */
  readonly key: string;
  /** Flag without dashes, kebab-case. */
  readonly flag: string;
  readonly env: string;
  readonly kind: OptionKind;
  /** The default as text; null if the option has none. */
  readonly defaultText: string | null;
  /** Allowed values, where they are few. */
  readonly choices: readonly string[] | null;
  readonly description: string;
}

/** Where option values come from. What is not there falls through: flag, environment, default. */
export interface OptionSources {
  /** By flag name without dashes. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Declares options once: type, range, default and description of each field give the flag (`--drain-timeout-ms`), the
 * environment variable (`BATON_<NAME>_DRAIN_TIMEOUT_MS`; without a name `BATON_DRAIN_TIMEOUT_MS`), the configuration's type,
 * the check at start, and the row of the reference page.
 */
export function defineOptions<Shape extends z.ZodRawShape>(
  name: string,
  shape: Shape,
): OptionSet<z.infer<z.ZodObject<Shape>>> {
  const schema = z.object(shape);
  return {
    name,
    schema: schema as unknown as z.ZodType<z.infer<z.ZodObject<Shape>>>,
    fields: Object.entries(shape).map(([key, field]) => optionField(name, key, field as z.ZodType)),
  };
}

/** Reads a set from its sources. Throws `config_invalid` that names every bad option and where it came from. */
export function readOptions<Config>(set: OptionSet<Config>, sources: OptionSources): Config {
  const raw: Record<string, unknown> = {};
  const origins = new Map<string, string>();
  const problems: string[] = [];
  for (const field of set.fields) {
    const [origin, value] = rawValue(field, sources);
    if (value === undefined) continue;
    origins.set(field.key, origin);
    const converted = convert(field.kind, value);
    if (converted === undefined)
      problems.push(`${origin}: ${JSON.stringify(value)} is not ${wanted(field.kind)}`);
    else raw[field.key] = converted;
  }
  const parsed = set.schema.safeParse(raw, issueWords);
  if (!parsed.success)
    problems.push(...parsed.error.issues.map((issue) => issueText(set, origins, raw, issue)));
  if (problems.length > 0 || !parsed.success) {
    throw new ServingError("config_invalid", { problem: problems.join("; "), options: problems });
  }
  return parsed.data;
}

/** Reads two sets from the same sources. Throws `config_invalid` that names the bad options of both. */
export function readBothOptions<First, Second>(
  first: OptionSet<First>,
  second: OptionSet<Second>,
  sources: OptionSources,
): readonly [First, Second] {
  const problems: string[] = [];
  const read = <Config>(set: OptionSet<Config>): Config | undefined => {
    try {
      return readOptions(set, sources);
    } catch (error) {
      problems.push(ServingError.from(error).message);
      return undefined;
    }
  };
  const configs = [read(first), read(second)] as const;
  if (problems.length === 0) return configs as readonly [First, Second];
  throw new ServingError("config_invalid", { problem: problems.join("; "), options: problems });
}

type Issue = z.core.$ZodIssue;

interface FieldSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly description?: string;
}

function optionField(set: string, key: string, field: z.ZodType): OptionField {
  const schema = z.toJSONSchema(field, { io: "input", unrepresentable: "any" }) as FieldSchema;
  const flag = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const prefix = set === "" ? "BATON" : `BATON_${set}`;
  return {
    key,
    flag,
    env: `${prefix}_${flag}`.replaceAll("-", "_").toUpperCase(),
    kind: kindOf(field, schema),
    defaultText: schema.default === undefined ? null : defaultText(schema.default),
    choices: schema.enum?.map(String) ?? null,
    description: schema.description ?? "",
  };
}

function defaultText(value: unknown): string | null {
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(",");
  return String(value);
}

function kindOf(field: z.ZodType, schema: FieldSchema): OptionKind {
  const type =
    schema.type ??
    (z.toJSONSchema(field, { io: "output", unrepresentable: "any" }) as FieldSchema).type;
  if (type === "boolean") return "boolean";
  if (type === "array") return "list";
  return type === "number" || type === "integer" ? "number" : "text";
}

function rawValue(field: OptionField, { flags, env }: OptionSources): readonly [string, unknown] {
  const flagValue = flags[field.flag];
  if (flagValue !== undefined) return [`--${field.flag}`, flagValue];
  const envValue = env[field.env];
  return [field.env, envValue === "" ? undefined : envValue];
}

/** A raw value in the option's own type; undefined if it is none. */
function convert(kind: OptionKind, value: unknown): unknown {
  switch (kind) {
    case "boolean":
      return typeof value === "boolean" ? value : booleanTexts.get(String(value).toLowerCase());
    case "number": {
      const number = String(value).trim() === "" ? Number.NaN : Number(value);
      return Number.isNaN(number) ? undefined : number;
    }
    case "list":
      return Array.isArray(value) ? value.map(String) : String(value).split(",");
    case "text":
      // To listen on the address "" is to listen on all of them, and no other text may be empty either.
      return value === "" ? undefined : String(value);
  }
}

const booleanTexts: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["yes", true],
  ["false", false],
  ["0", false],
  ["no", false],
]);

function wanted(kind: OptionKind): string {
  if (kind === "boolean") return "true or false";
  return kind === "text" ? "a value" : `a ${kind}`;
}

function issueText(
  set: OptionSet<unknown>,
  origins: ReadonlyMap<string, string>,
  raw: Readonly<Record<string, unknown>>,
  issue: Issue,
): string {
  const key = String(issue.path[0] ?? "");
  const field = set.fields.find((candidate) => candidate.key === key);
  const name = origins.get(key) ?? `--${field?.flag ?? key}`;
  const value = raw[key];
  if (value === undefined && field !== undefined && issue.code === "invalid_type") {
    return `${name} is needed (or ${field.env})`;
  }
  return value === undefined
    ? `${name}: ${issue.message}`
    : `${name} ${JSON.stringify(value)}: ${issue.message}`;
}
