import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { type RequestHeaders, readRoutingHeaders } from "../../src/http/routing-headers.ts";

/** Header bytes as Node shows them. */
const asNode = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

function refusalOf(headers: RequestHeaders): string {
  try {
    readRoutingHeaders(headers);
    return "taken";
  } catch (caught) {
    const { code, details, message } = ServingError.from(caught);
    return `${code} ${details.param}: ${message}`;
  }
}

const nothing = {
  worker: undefined,
  prefillWorker: undefined,
  rank: undefined,
  prefillRank: undefined,
  tenant: undefined,
  session: undefined,
  parentSession: undefined,
  ignored: [],
};

describe("routing headers", () => {
  it("say nothing where there are none, or empty ones", () => {
    expect(readRoutingHeaders({ host: "here" })).toEqual(nothing);
    expect(
      readRoutingHeaders({ "x-tenant-id": "", "x-dynamo-dp-rank": "", "x-baton-session-id": "" }),
    ).toEqual(nothing);
  });

  it.each([
    ["x-dynamo-worker-instance-id", "worker"],
    ["x-worker-instance-id", "worker"],
    ["x-dynamo-prefill-instance-id", "prefillWorker"],
    ["x-prefill-instance-id", "prefillWorker"],
    ["x-tenant-id", "tenant"],
    ["x-baton-session-id", "session"],
    ["x-dynamo-session-id", "session"],
    ["x-baton-parent-session-id", "parentSession"],
    ["x-dynamo-parent-session-id", "parentSession"],
  ])("take a name from %s", (field, key) => {
    expect(readRoutingHeaders({ [field]: "w-1" })).toEqual({
      ...nothing,
      [key]: { field, value: "w-1" },
    });
  });

  it.each([
    ["x-dynamo-dp-rank", "rank"],
    ["x-dp-rank", "rank"],
    ["x-data-parallel-rank", "rank"],
    ["x-dynamo-prefill-dp-rank", "prefillRank"],
    ["x-prefill-dp-rank", "prefillRank"],
  ])("take a rank from %s", (field, key) => {
    expect(readRoutingHeaders({ [field]: "4294967295" })).toEqual({
      ...nothing,
      [key]: { field, value: 2 ** 32 - 1 },
    });
  });

  it("take the first of two names for one thing", () => {
    const { rank, session } = readRoutingHeaders({
      "x-dp-rank": "2",
      "x-dynamo-dp-rank": "1",
      "x-dynamo-session-id": "theirs",
      "x-baton-session-id": "ours",
    });

    expect(rank?.value).toBe(1);
    expect(session?.value).toBe("ours");
  });

  it("read UTF-8, so that a header names what a body names", () => {
    expect(readRoutingHeaders({ "x-tenant-id": asNode("Café 字") }).tenant?.value).toBe("Café 字");
    expect(refusalOf({ "x-tenant-id": "caf\u00e9" })).toBe(
      "invalid_request x-tenant-id: x-tenant-id must be UTF-8",
    );
  });

  it("name those that have no effect", () => {
    const { ignored } = readRoutingHeaders({
      "x-dynamo-request-priority": "5",
      "x-dynamo-meta-policy-class": "gold",
      "x-dynamo-request-strict-priority": "",
    });

    expect(ignored).toEqual(["x-dynamo-request-priority", "x-dynamo-meta-policy-class"]);
  });

  it.each<readonly [string, string, string]>([
    ["x-worker-instance-id", "a.b", "must be a worker's id: 1 to 64 of A-Z a-z 0-9 _ -"],
    ["x-dynamo-prefill-instance-id", "a, b", "must be a worker's id: 1 to 64 of A-Z a-z 0-9 _ -"],
    [
      "x-dynamo-worker-instance-id",
      "x".repeat(65),
      "must be a worker's id: 1 to 64 of A-Z a-z 0-9 _ -",
    ],
    ["x-dp-rank", "-1", "must be a whole number from 0 to 4294967295"],
    ["x-dp-rank", "1.5", "must be a whole number from 0 to 4294967295"],
    ["x-dynamo-prefill-dp-rank", "4294967296", "must be a whole number from 0 to 4294967295"],
    ["x-dynamo-dp-rank", "one", "must be a whole number from 0 to 4294967295"],
    ["x-dynamo-session-id", "x".repeat(257), "must be at most 256 bytes"],
    ["x-baton-parent-session-id", asNode("é".repeat(129)), "must be at most 256 bytes"],
    ["x-tenant-id", "x".repeat(1_025), "must be at most 1024 bytes"],
  ])("refuse %s: %s", (field, value, problem) => {
    expect(refusalOf({ [field]: value })).toBe(`invalid_request ${field}: ${field} ${problem}`);
  });

  it("take a session of as many bytes as there may be", () => {
    expect(refusalOf({ "x-baton-session-id": asNode("é".repeat(128)) })).toBe("taken");
  });
});
