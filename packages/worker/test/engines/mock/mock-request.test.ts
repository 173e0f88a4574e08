import { createBlockHasherFromModule } from "@baton/kv-router";
import { type GenerationParams, requestId, tokensToBytes } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { logprobsOf, type MockVoice, mockRequest } from "../../../src/engines/mock/mock-request.ts";

const hasher = createBlockHasherFromModule();
const voice: MockVoice = {
  hasher,
  encode: (piece) => Uint32Array.from(piece, (letter) => letter.charCodeAt(0)),
  endOfGenerationIds: new Set([7]),
  vocabularySize: 200,
};

function requestOf(params: Partial<GenerationParams>, tokens = Uint32Array.of(1, 2, 3)) {
  const job = {
    requestId: requestId("r1"),
    dpRank: 0,
    tokens,
    blockHashes: new Uint8Array(0),
    sequenceHashes: new Uint8Array(0),
    params: { maxTokens: 5, ...params },
    lora: null,
    salt: null,
  };
  return mockRequest(job, "generate", voice);
}

const textOf = (request: ReturnType<typeof requestOf>, choice: number, length: number) => {
  let text = "";
  for (let i = 0; i < length; i++) {
    text += String.fromCharCode(request.plans[choice]?.next(i) ?? 0);
  }
  return text;
};

describe("mockRequest", () => {
  it("plans the text of its prompt's hash", () => {
    const hash = hasher.xxh3(tokensToBytes(Uint32Array.of(1, 2, 3)));
    const hex = Buffer.from(hash.subarray(0, 4)).reverse().toString("hex");

    expect(textOf(requestOf({}), 0, 21)).toBe(`${hex}-0 ${hex}-1`);
  });

  it("plans each choice by itself, the same from the same seed", () => {
    const params = { n: 2, temperature: 1, seed: 9 };
    const [first, again] = [requestOf(params), requestOf(params)];

    expect(first.plans).toHaveLength(2);
    expect(textOf(first, 1, 60)).toBe(textOf(again, 1, 60));
    expect(textOf(first, 1, 60)).not.toBe(textOf(first, 0, 60));
  });

  it("takes over when to end", () => {
    const { rules } = requestOf({ minTokens: 2, ignoreEos: true, stopTokenIds: [4, 5] });

    expect(rules).toEqual({
      maxTokens: 5,
      minTokens: 2,
      eosTokenIds: new Set([7]),
      ignoreEos: true,
      stopTokenIds: new Set([4, 5]),
    });
  });
});

describe("logprobsOf", () => {
  it("gives none unless asked, and as many candidates as asked for", () => {
    expect(logprobsOf(requestOf({}), 0, 0, 5, 200)).toBeNull();
    expect(logprobsOf(requestOf({ logprobs: 0 }), 0, 0, 5, 200)?.top).toEqual([]);
    const logprobs = logprobsOf(requestOf({ logprobs: 3 }), 0, 0, 5, 200);
    expect(logprobs?.top).toHaveLength(3);
    expect(logprobs?.top[0]).toEqual([5, logprobs?.chosen]);
  });
});
