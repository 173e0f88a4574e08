import { handoffId, pack } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { askFor, decodeAsk, encodeAsk } from "../../src/tcp/pull-ask.ts";

const id = handoffId("h-1");
const secret = Uint8Array.of(1, 2, 3);
/** As it lies in a network buffer: behind other bytes, at an odd offset. */
const bodyOf = (frame: Buffer): Buffer => Buffer.concat([Buffer.of(9), frame]).subarray(6);

describe("a pull's request", () => {
  it.each([
    ["blocks and tail", [3, 7, 70_000, "tail"] as const],
    ["blocks", [0] as const],
    ["the tail", ["tail"] as const],
    ["nothing", [] as const],
  ])("for %s comes through", (_what, parts) => {
    const ask = askFor(id, secret, parts);

    const read = decodeAsk(bodyOf(encodeAsk(ask)));

    expect({ ...read, blocks: [...read.blocks] }).toEqual({
      handoffId: id,
      secret,
      blocks: parts.filter((part) => part !== "tail"),
      tail: parts.at(-1) === "tail",
    });
  });

  it("must have its tail last", () => {
    expect(() => askFor(id, secret, ["tail", 1])).toThrow(
      expect.objectContaining({ code: "internal" }),
    );
  });

  it.each([
    ["no msgpack", Uint8Array.of(0xc1), "malformed_message"],
    ["no array", pack({}), "malformed_message"],
    ["another version", pack([2, id, secret, secret, true]), "version_mismatch"],
    ["a number as id", pack([1, 5, secret, new Uint8Array(4), true]), "malformed_message"],
    ["half a block number", pack([1, id, secret, new Uint8Array(3), true]), "malformed_message"],
    ["no word on the tail", pack([1, id, secret, new Uint8Array(4)]), "malformed_message"],
  ])("with %s is refused", (_what, body, code) => {
    expect(() => decodeAsk(body)).toThrow(expect.objectContaining({ code }));
  });
});
