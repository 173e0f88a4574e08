import type { ErrorCode } from "@baton/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";

/** What is said of a path. */
export interface RouteDoc {
  /** With `{model}` for a part that varies. */
  readonly path: string;
  /** In PascalCase: what its schemas are called. */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  /** The schema that checks the body; absent where there is none. */
  readonly body?: z.ZodType;
  /** What 200 answers: a schema of JSON, or another media type. */
  readonly answer: z.ZodType | string;
  /** One event of a stream, where the body may ask for one. */
  readonly chunk?: z.ZodType;
  /** Errors that it may answer, beside those of every path. */
  readonly errors: readonly ErrorCode[];
}

/** One path of the API with one method. */
export interface ApiRoute {
  /** GET answers HEAD too. */
  readonly method: "GET" | "POST";
  /** May end in `/*`: whatever follows is the parameter `*`, decoded. */
  readonly path: string;
  /** What is said of it: of each path, where it stands for several. */
  readonly docs: readonly RouteDoc[];
  /** Answers, or throws the `ServingError` that is the answer. */
  handle(request: FastifyRequest, reply: FastifyReply): unknown;
}

/** Errors of whatever has a body. */
export const bodyErrors: readonly ErrorCode[] = [
  "invalid_request",
  "unsupported",
  "model_not_found",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
  "headers_too_large",
  "internal",
  "not_ready",
  "bus_unavailable",
  "overloaded",
];

/** Errors of whatever generates. */
export const generationErrors: readonly ErrorCode[] = [
  ...bodyErrors,
  "context_length_exceeded",
  "unknown_worker",
  "handoff_refused",
  "kv_transfer_failed",
  "engine_protocol",
  "engine_failed",
  "prefill_activating",
  "no_worker_available",
  "worker_lost",
  "engine_lost",
  "router_lost",
  "draining",
  "deadline_exceeded",
];

/** What follows the fixed part of a route's path. */
export function pathRest(request: FastifyRequest): string {
  return (request.params as Readonly<Record<string, string>>)["*"] ?? "";
}

/** The methods of each path, as the `allow` header writes them. */
export class AllowedMethods {
  readonly #fixed = new Map<string, string>();
  readonly #prefixes: (readonly [prefix: string, methods: string])[] = [];

  constructor(routes: readonly ApiRoute[]) {
    for (const { method, path } of routes) {
      const methods = method === "GET" ? "GET, HEAD" : method;
      if (path.endsWith("/*")) this.#prefixes.push([path.slice(0, -1), methods]);
      else this.#fixed.set(path, methods);
    }
  }

  /** Undefined where there is no such path. */
  of(path: string): string | undefined {
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return fixed;
    return this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
  }
}
