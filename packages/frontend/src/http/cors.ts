import type { IncomingMessage } from "node:http";

type Headers = Readonly<Record<string, string>>;

const none: Headers = {};
const exposed = "x-request-id, retry-after, x-should-retry";
/** How long a browser may keep what it was told, seconds: the most that Chromium takes. */
const maxAgeSeconds = "7200";
/** Names of headers as a browser lists them. */
const nameList = /^[\w!#$%&'*+.^`|~ ,-]{1,4096}$/;

/**
 * What browsers of other origins may do. Without origins nothing: a page of another origin then cannot read an answer.
 * Keys travel in a header that the page sets by itself, so credentials in the browser's sense are never allowed.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>;
  readonly #isForAll: boolean;

  /** Origins as browsers write them, `https://app.example`; `*` is all. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
    this.#isForAll = this.#origins.has("*");
  }

  /** What every answer says. */
  headers(request: IncomingMessage): Headers {
    if (this.#origins.size === 0) return none;
    const { origin } = request.headers;
    if (this.#isForAll) {
      if (origin === undefined) return none;
      return { "access-control-allow-origin": "*", "access-control-expose-headers": exposed };
    }
    // Caches must keep the answers to different origins apart.
    if (origin === undefined || !this.#origins.has(origin)) return { vary: "origin" };
    return {
      vary: "origin",
      "access-control-allow-origin": origin,
      "access-control-expose-headers": exposed,
    };
  }

  /** What a browser is told that asks beforehand, beside what every answer says; null if this is no such question. */
  preflight(request: IncomingMessage, methods: string): Headers | null {
    const { headers, method } = request;
    if (this.#origins.size === 0 || method !== "OPTIONS" || headers.origin === undefined) {
      return null;
    }
    if (headers["access-control-request-method"] === undefined) return null;
    if (!this.#isForAll && !this.#origins.has(headers.origin)) return none;
    const wanted = headers["access-control-request-headers"] ?? "";
    return {
      "access-control-allow-methods": methods,
      ...(nameList.test(wanted) ? { "access-control-allow-headers": wanted } : {}),
      "access-control-max-age": maxAgeSeconds,
    };
  }
}
