/** Hot path: once per request. */
import type { IncomingMessage } from "node:http";
import { type ContentCoding, contentCodings, tooLarge } from "./content-coding.ts";
import { refusal } from "./error-body.ts";

/**
 * What is wrong with the frame of a request although Node's parser took it; null if nothing is. Whatever two readers could
 * understand in two ways is refused: a proxy in front may have understood the other.
 */
export function frameProblem(request: IncomingMessage): string | null {
  const { headers, httpVersionMajor, httpVersionMinor } = request;
  if (httpVersionMajor !== 1) return "only HTTP/1.1 and HTTP/1.0 are served here";
  const transferCoding = headers["transfer-encoding"];
  if (transferCoding !== undefined) {
    if (httpVersionMinor === 0) return "transfer-encoding is not known in HTTP/1.0";
    if (transferCoding.toLowerCase() !== "chunked") return "transfer-encoding must be chunked";
  }
  if (headers.host === undefined) {
    return httpVersionMinor === 0 ? null : "the host header is missing";
  }
  return hasSecondHost(request.rawHeaders) ? "the host header stands twice" : null;
}

function hasSecondHost(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count > 1;
}

/** Whether bytes follow the head. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined;
}

/**
 * Looks at what a request says of its body before any of it is read, and tells how it is folded; null if it is not.
 * Throws `unsupported_media_type`, `payload_too_large`, or `invalid_request` if there is none.
 */
export function checkBodyHead(request: IncomingMessage, maxBytes: number): ContentCoding | null {
  if (!hasBody(request)) {
    throw refusal("invalid_request", "the body is empty; it must be a JSON object");
  }
  const { headers } = request;
  const problem = typeProblem(headers["content-type"]);
  if (problem !== null) throw refusal("unsupported_media_type", problem);
  const coding = codingOf(headers["content-encoding"]);
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return coding;
}

const jsonType = /^application\/(?:[a-z0-9.!#$&^_+-]+\+)?json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i;
const utf8Names: ReadonlySet<string> = new Set(["utf-8", "utf8", "us-ascii", "ascii"]);

function typeProblem(type: string | undefined): string | null {
  if (type === "application/json") return null;
  if (type === undefined || !jsonType.test(type)) return "content-type must be application/json";
  const name = charset.exec(type)?.[1];
  if (name === undefined || utf8Names.has(name.toLowerCase())) return null;
  return "the charset of the body must be utf-8";
}

function codingOf(header: string | undefined): ContentCoding | null {
  if (header === undefined) return null;
  const coding = header.trim().toLowerCase();
  if (coding === "" || coding === "identity") return null;
  if (coding === "gzip" || coding === "x-gzip") return "gzip";
  if (coding === "deflate" || coding === "br") return coding;
  throw refusal("unsupported_media_type", `content-encoding must be one of ${contentCodings}`);
}
