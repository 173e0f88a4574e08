import { ServingError } from "@baton/protocol";
import {
  isWorkerId,
  labelProblem,
  maxRank,
  maxSaltBytes,
  maxSessionBytes,
} from "./routing-schema.ts";

/** A value with the name under which the client gave it. */
export interface Said<T> {
  readonly field: string;
  readonly value: T;
}

/** The headers of a request as Node gives them: names in lower case, bytes as Latin-1. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What a request's headers say about its routing. */
export interface RoutingHeaders {
  /** Pins the decode worker, and the prefill worker too unless that has a pin of its own. */
  readonly worker: Said<string> | undefined;
  readonly prefillWorker: Said<string> | undefined;
  readonly rank: Said<number> | undefined;
  readonly prefillRank: Said<number> | undefined;
  readonly tenant: Said<string> | undefined;
  readonly session: Said<string> | undefined;
  readonly parentSession: Said<string> | undefined;
  /** Headers that have no effect. */
  readonly ignored: readonly string[];
}

const names = {
  worker: ["x-dynamo-worker-instance-id", "x-worker-instance-id"],
  prefillWorker: ["x-dynamo-prefill-instance-id", "x-prefill-instance-id"],
  rank: ["x-dynamo-dp-rank", "x-dp-rank", "x-data-parallel-rank"],
  prefillRank: ["x-dynamo-prefill-dp-rank", "x-prefill-dp-rank"],
  tenant: ["x-tenant-id"],
  session: ["x-baton-session-id", "x-dynamo-session-id"],
  parentSession: ["x-baton-parent-session-id", "x-dynamo-parent-session-id"],
} as const;

/** Known to mean something elsewhere. */
const withoutEffect = [
  "x-dynamo-request-priority",
  "x-dynamo-request-strict-priority",
  "x-dynamo-meta-policy-class",
] as const;

/** Reads them. An empty one is absent. Throws `invalid_request` with the header in `param`. */
export function readRoutingHeaders(headers: RequestHeaders): RoutingHeaders {
  const session = label(headers, names.session, maxSessionBytes);
  const parentSession = label(headers, names.parentSession, maxSessionBytes);
  return {
    worker: worker(headers, names.worker),
    prefillWorker: worker(headers, names.prefillWorker),
    rank: rank(headers, names.rank),
    prefillRank: rank(headers, names.prefillRank),
    tenant: label(headers, names.tenant, maxSaltBytes),
    session,
    parentSession,
    ignored: withoutEffect.filter((name) => (headers[name] ?? "") !== ""),
  };
}

function worker(headers: RequestHeaders, aliases: readonly string[]): Said<string> | undefined {
  const said = given(headers, aliases);
  if (said === undefined || isWorkerId(said.value)) return said;
  throw invalid(said.field, "must be a worker's id: 1 to 64 of A-Z a-z 0-9 _ -");
}

function rank(headers: RequestHeaders, aliases: readonly string[]): Said<number> | undefined {
  const said = given(headers, aliases);
  if (said === undefined) return undefined;
  const value = /^\d{1,10}$/.test(said.value) ? Number(said.value) : Number.NaN;
  if (value <= maxRank) return { field: said.field, value };
  throw invalid(said.field, `must be a whole number from 0 to ${maxRank}`);
}

function label(
  headers: RequestHeaders,
  aliases: readonly string[],
  maxBytes: number,
): Said<string> | undefined {
  const said = given(headers, aliases);
  if (said === undefined) return undefined;
  const value = fromUtf8(said.value);
  const problem = value === null ? "must be UTF-8" : labelProblem(value, maxBytes);
  if (value === null || problem !== null) throw invalid(said.field, problem ?? "");
  return { field: said.field, value };
}

/** The first of the names that has a value. */
function given(headers: RequestHeaders, aliases: readonly string[]): Said<string> | undefined {
  for (const field of aliases) {
    const value = headers[field];
    if (value === undefined || value.length === 0) continue;
    return { field, value: typeof value === "string" ? value : value.join(", ") };
  }
  return undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Node reads header bytes as Latin-1; a body's text is Unicode, and the same name must come out the same. */
function fromUtf8(latin1: string): string | null {
  try {
    return utf8.decode(Buffer.from(latin1, "latin1"));
  } catch {
    // Bytes that are no UTF-8: the caller says so.
    return null;
  }
}

function invalid(param: string, problem: string): ServingError {
  return new ServingError("invalid_request", { param, problem: `${param} ${problem}` });
}
