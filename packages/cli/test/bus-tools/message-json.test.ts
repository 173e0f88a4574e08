import {
  GenerationWork,
  handoffId,
  KvHandoff,
  packKvEvents,
  ServingError,
  workerId,
} from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { messageJson } from "../../src/bus-tools/message-json.ts";

const hash = Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 0xff);

describe("messageJson", () => {
  it("shows hashes as hex, eight bytes each, and other bytes as base64", () => {
    expect(
      messageJson({ sequenceHashes: Uint8Array.of(...hash, ...hash), body: Uint8Array.of(1, 2) }),
    ).toEqual({
      sequenceHashes: ["00010203040506ff", "00010203040506ff"],
      body: "AQI=",
    });
  });

  it("opens the work of a request", () => {
    const work = GenerationWork.encode({
      tokens: Uint32Array.of(1, 4_000_000_000),
      params: { maxTokens: 2 },
      lora: null,
      salt: null,
    });

    expect(messageJson({ work })).toEqual({
      work: { tokens: [1, 4_000_000_000], params: { maxTokens: 2 }, lora: null, salt: null },
    });
  });

  it("never shows a ticket's secret", () => {
    const handoff = KvHandoff.encode({
      handoffId: handoffId("h-1"),
      prefillWorkerId: workerId("w-1"),
      prefillGeneration: 1,
      dpRank: 0,
      transport: "blocks",
      address: "127.0.0.1:7000",
      secret: Uint8Array.of(1, 2, 3),
      bytes: 0,
      blocks: 0,
      descriptor: null,
      expiresAtMs: 1,
      firstTokens: [],
      promptTokens: 1,
      cachedTokens: 0,
      engineParams: null,
    });

    const json = messageJson({ handoff });

    expect(json).toMatchObject({ handoff: { handoffId: "h-1", secret: "redacted" } });
    expect(JSON.stringify(json)).not.toContain("AQID");
  });

  it("opens KV events, and takes an empty body for none", () => {
    const events = packKvEvents([{ kind: "removed", sequenceHashes: hash }]);

    expect(messageJson({ events })).toEqual({
      events: [{ kind: "removed", sequenceHashes: ["00010203040506ff"] }],
    });
    expect(messageJson({ events: new Uint8Array(0) })).toEqual({ events: [] });
  });

  it("shows an error's code, message and facts", () => {
    expect(
      messageJson({ error: new ServingError("worker_lost", { workerId: "w-1" }) }),
    ).toMatchObject({
      error: { code: "worker_lost", details: { workerId: "w-1" } },
    });
  });

  it("falls back to base64 for nested bytes that do not open", () => {
    expect(messageJson({ work: Uint8Array.of(0xc1) })).toEqual({ work: "wQ==" });
  });
});
