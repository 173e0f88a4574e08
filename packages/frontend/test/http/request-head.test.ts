import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { checkBodyHead, frameProblem, hasBody } from "../../src/http/request-head.ts";

/** A request as Node's parser gives it, with these headers. */
function requestWith(fields: readonly (readonly [string, string])[], minor = 1): IncomingMessage {
  const headers: Record<string, string> = {};
  for (const [name, value] of fields) headers[name.toLowerCase()] ??= value;
  return {
    headers,
    rawHeaders: fields.flat(),
    httpVersionMajor: 1,
    httpVersionMinor: minor,
  } as unknown as IncomingMessage;
}

describe("the frame of a request", () => {
  it.each([
    [[["Host", "a"]], 1, null],
    [[["Host", ""]], 1, null],
    [[], 0, null],
    [[], 1, /host header is missing/],
    [
      [
        ["Host", "a"],
        ["x", "y"],
        ["hOST", "a"],
      ],
      1,
      /host header stands twice/,
    ],
    [
      [
        ["host", "a"],
        ["HOST", "a"],
      ],
      0,
      /host header stands twice/,
    ],
    [
      [
        ["host", "a"],
        ["Transfer-Encoding", "Chunked"],
      ],
      1,
      null,
    ],
    [
      [
        ["host", "a"],
        ["Transfer-Encoding", "gzip, chunked"],
      ],
      1,
      /must be chunked/,
    ],
    [
      [
        ["host", "a"],
        ["Transfer-Encoding", "chunked"],
      ],
      0,
      /not known in HTTP\/1.0/,
    ],
  ] as const)("%j in HTTP/1.%d", (fields, minor, problem) => {
    const found = frameProblem(requestWith(fields, minor));

    if (problem === null) expect(found).toBeNull();
    else expect(found).toMatch(problem);
  });
});

describe("what a request says of its body", () => {
  it("tells whether there is one", () => {
    expect(hasBody(requestWith([]))).toBe(false);
    expect(hasBody(requestWith([["content-length", "0"]]))).toBe(false);
    expect(hasBody(requestWith([["content-length", "1"]]))).toBe(true);
    expect(hasBody(requestWith([["transfer-encoding", "chunked"]]))).toBe(true);
  });

  it("tells how it is folded", () => {
    const codings = ["", "identity", "gzip", "x-gzip", " BR ", "deflate"].map((coding) =>
      checkBodyHead(
        requestWith([
          ["content-length", "1"],
          ["content-type", "application/json"],
          ["content-encoding", coding],
        ]),
        1,
      ),
    );

    expect(codings).toEqual([null, null, "gzip", "gzip", "br", "deflate"]);
  });

  it("names the type before the size: another type is no better if it is smaller", () => {
    const request = requestWith([
      ["content-length", "2"],
      ["content-type", "text/plain"],
    ]);

    expect(() => checkBodyHead(request, 1)).toThrow(/content-type/);
  });
});
