import { createBlockHasherFromModule } from "@baton/kv-router";
import { type GenerationParams, requestId, tokensToBytes } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import {
  logprobsOf,
  type MockVoice,
  mockRequest,
  promptLogprobsOf,
} from "../../../src/engines/mock/mock-request.ts";

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

describe("mockRequest with options that change the text", () => {
  const json = { kind: "json" } as const;

  it("bans what would end the output too early", () => {
    const first = requestOf({}).plans[0]?.next(0) ?? 0;
    const request = requestOf({ minTokens: 1, stopTokenIds: [first] });
    expect(request.plans[0]?.next(0)).not.toBe(first);
    expect(request.plans[0]?.next(1)).toBe(requestOf({}).plans[0]?.next(1));
  });

  it("says valid JSON with the text in it, and then the end", () => {
    const request = requestOf({ grammar: json });
    const hex = request.promptHash.toString(16).padStart(8, "0");
    const words = [0, 1, 2, 3, 4, 5, 6, 7].map((index) => `${hex}-${index}`).join(" ");
    const text = `{"text":"${words}"}`;
    expect(textOf(request, 0, text.length)).toBe(text);
    expect(request.plans[0]?.next(text.length)).toBe(7);
    expect(request.plans[0]?.next(text.length + 1)).toBeUndefined();
  });

  it("says as much JSON as min_tokens and ignore_eos ask for", () => {
    const longer = requestOf({ grammar: json, minTokens: 300 });
    expect(longer.plans[0]?.next(300)).toBeDefined();
    const whole = requestOf({ grammar: json, ignoreEos: true, maxTokens: 500 });
    expect(String.fromCharCode(whole.plans[0]?.next(499) ?? 0)).toMatch(/[-0-9a-f ]/);
  });

  it("gives each choice its own JSON", () => {
    const request = requestOf({ grammar: json, n: 2, temperature: 1, seed: 4 });
    expect(textOf(request, 0, 40)).not.toBe(textOf(request, 1, 40));
  });

  it.each([
    ["unsupported", { grammar: json, logitBias: { "3": 1 } }, "logit_bias"],
    ["invalid_request", { logitBias: { "200": 1 } }, "logit_bias"],
    [
      "invalid_request",
      { grammar: { kind: "json_schema", schema: "[" } as const },
      "response_format",
    ],
    ["unsupported", { promptLogprobs: 100_000 }, "prompt_logprobs"],
  ])("refuses as %s what it cannot do: %j", (code, params, param) => {
    expect(() => requestOf(params)).toThrowError(
      expect.objectContaining({ code, details: expect.objectContaining({ param }) }),
    );
  });
});

describe("logprobsOf", () => {
  it("gives none unless asked, and as many candidates as asked for", () => {
    expect(logprobsOf(requestOf({}), 0, 0, 5, 200)).toBeNull();
    expect(logprobsOf(requestOf({ logprobs: 0 }), 0, 0, 5, 200)?.top).toEqual([]);
    const request = requestOf({ logprobs: 3 });
    const planned = request.plans[0]?.next(4) ?? 0;
    const logprobs = logprobsOf(request, 0, 4, planned, 200);
    expect(logprobs?.top).toHaveLength(3);
    expect(logprobs?.top[0]).toEqual([planned, logprobs?.chosen]);
  });

  it("tells of the text as it is without bias", () => {
    const plain = requestOf({ logprobs: 2 });
    const biased = requestOf({ logprobs: 2, logitBias: { "150": 100 } });
    const planned = plain.plans[0]?.next(0) ?? 0;

    expect(biased.plans[0]?.next(0)).toBe(150);
    const told = logprobsOf(biased, 0, 0, 150, 200);
    expect(told?.top).toEqual(logprobsOf(plain, 0, 0, planned, 200)?.top);
    expect(told?.chosen).toBeLessThan(told?.top[1]?.[1] ?? 0);
  });
});

describe("promptLogprobsOf", () => {
  it("gives one entry per prompt token after the first, if asked", () => {
    expect(promptLogprobsOf(requestOf({}), 200)).toBeNull();
    const told = promptLogprobsOf(requestOf({ promptLogprobs: 2 }), 200);
    expect(told).toHaveLength(2);
    expect(told?.map(({ top }) => top[0]?.[0])).toEqual([2, 3]);
    expect(promptLogprobsOf(requestOf({ promptLogprobs: 0 }, Uint32Array.of(1)), 200)).toEqual([]);
  });

  it("gives prompts that begin alike the same", () => {
    const long = promptLogprobsOf(
      requestOf({ promptLogprobs: 1 }, Uint32Array.of(1, 2, 3, 4)),
      200,
    );
    const short = promptLogprobsOf(requestOf({ promptLogprobs: 1 }), 200);
    expect(long?.slice(0, 2)).toEqual(short);
  });
});
