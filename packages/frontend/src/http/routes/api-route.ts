import type { FastifyReply, FastifyRequest } from "fastify";

/** One path of the API with one method. */
export interface ApiRoute {
  /** GET answers HEAD too. */
  readonly method: "GET" | "POST";
  /** May end in `/*`: whatever follows is the parameter `*`, decoded. */
  readonly path: string;
  /** Answers, or throws the `ServingError` that is the answer. */
  handle(request: FastifyRequest, reply: FastifyReply): unknown;
}

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
