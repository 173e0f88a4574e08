/** Visible ASCII that is safe in a header and in a log, of a length that an id has. */
const headerValue = /^[\x21-\x7e]{1,200}$/;
const traceparentValue = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The client's own request id, if it sent a usable one. */
export function clientRequestId(header: string | readonly string[] | undefined): string | null {
  return typeof header === "string" && headerValue.test(header) ? header : null;
}

/** The client's W3C trace context, if it sent a well-formed one. */
export function traceparent(header: string | readonly string[] | undefined): string | null {
  return typeof header === "string" && traceparentValue.test(header) ? header : null;
}
