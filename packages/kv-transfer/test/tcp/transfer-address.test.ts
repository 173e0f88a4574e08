import { describe, expect, it } from "vitest";
import { formatAddress, parseAddress } from "../../src/tcp/transfer-address.ts";

describe("a transfer address", () => {
  it.each([
    ["127.0.0.1", 80],
    ["worker-1.pool", 65_535],
    ["::1", 4_000],
  ])("keeps %s:%i through text", (host, port) => {
    expect(parseAddress(formatAddress(host, port))).toEqual({ host, port });
  });
});
