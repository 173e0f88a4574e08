import { createBlockHasherFromModule } from "@baton/kv-router";
import { GenerationWork, requestId, ServingError } from "@baton/protocol";
import { SeededRandom } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { createPrepareRequest, type PreparedRequest } from "../../src/prepare/prepare-request.ts";
import { TextModels } from "../../src/prepare/text-models.ts";
import type { ServingRequest } from "../../src/request/serving-request.ts";
import { fakeTextModel } from "../support/fake-text-model.ts";
import { registrationOf } from "../support/fake-view.ts";

const hasher = createBlockHasherFromModule();
const { card } = registrationOf({ id: "a1", type: "aggregated" });

function prepare(
  changes: Partial<ServingRequest> = {},
  cardChanges: Partial<typeof card> = {},
  maxWorkBytes = 10_000,
): Promise<PreparedRequest> {
  const request: ServingRequest = {
    requestId: requestId("r1"),
    model: "m",
    prompt: { kind: "text", text: "0123456789" },
    output: { maxTokens: 8, n: 1 },
    stop: [],
    clientRequestId: null,
    traceparent: null,
    ...changes,
  };
  const prepareRequest = createPrepareRequest({
    textModels: new TextModels(1, () => Promise.resolve(fakeTextModel)),
    hasher,
    random: new SeededRandom("prepare"),
    maxPromptLogprobs: 100,
    maxWorkBytes: () => maxWorkBytes,
  });
  return prepareRequest(request, { ...card, ...cardChanges });
}

/** The rig allows 100 log-probabilities of a prompt of ten tokens. */
const withPromptLogprobs = { capabilities: [...card.capabilities, "prompt_logprobs"] };

async function refusalOf(pending: Promise<unknown>): Promise<string> {
  const error = await pending.then(
    () => null,
    (caught: unknown) => ServingError.from(caught),
  );
  return `${error?.code} ${error?.details.param ?? ""}`.trim();
}

describe("preparing a request", () => {
  it("tokenizes, hashes whole blocks once, and encodes the work", async () => {
    const prepared = await prepare();

    const tokens = Uint32Array.from(new TextEncoder().encode("0123456789"));
    expect(prepared.promptTokens).toBe(10);
    expect(prepared.blockHashes).toEqual(hasher.blockHashes(tokens, 4));
    expect(prepared.sequenceHashes).toEqual(hasher.sequenceHashes(prepared.blockHashes));
    expect(prepared.blockHashes).toHaveLength(16);
    expect(GenerationWork.decode(prepared.work)).toMatchObject({ tokens, lora: null, salt: null });
  });

  it("renders a chat and takes token ids as they are", async () => {
    const chat = await prepare({
      prompt: { kind: "chat", messages: [{ role: "user", content: "Hi" }] },
    });
    const ids = await prepare({ prompt: { kind: "tokens", tokens: Uint32Array.of(1, 2, 3) } });

    expect(chat.promptTokens).toBe("user:Hi\nassistant:".length);
    expect(GenerationWork.decode(ids.work).tokens).toEqual(Uint32Array.of(1, 2, 3));
  });

  it("lets the output be as long as fits if the client did not say", async () => {
    const prepared = await prepare({ output: { maxTokens: null, n: 1 } });

    expect(GenerationWork.decode(prepared.work).params.maxTokens).toBe(54);
  });

  it("refuses a JSON schema that no engine keeps to", async () => {
    const schema = JSON.stringify({ type: "string", pattern: "^a" });
    const output = { maxTokens: 1, n: 1, grammar: { kind: "json_schema", schema } } as const;
    const refusal = refusalOf(
      prepare({ output }, { capabilities: [...card.capabilities, "grammar"] }),
    );

    expect(await refusal).toBe("unsupported response_format");
  });

  it("draws a seed where sampling is on and none was given, and only there", async () => {
    const params = async (output: Partial<ServingRequest["output"]>) =>
      GenerationWork.decode((await prepare({ output: { maxTokens: 1, n: 1, ...output } })).work)
        .params;

    expect((await params({})).seed).toBeTypeOf("number");
    expect((await params({ seed: 5 })).seed).toBe(5);
    expect((await params({ temperature: 0 })).seed).toBeUndefined();
  });

  it("hashes by the model's and the tenant's salt, and tells the worker by what", async () => {
    const ofTenant = (cacheSalt: string) => ({
      routing: { rules: null, cacheSalt, said: {}, ignored: [] },
    });
    const tokens = Uint32Array.from(new TextEncoder().encode("0123456789"));
    const all = await Promise.all([
      prepare(),
      prepare(ofTenant("a")),
      prepare(ofTenant("b")),
      prepare({}, { hashSalt: "a" }),
      prepare(ofTenant("b"), { hashSalt: "a" }),
    ]);

    const spaces = new Set(all.map(({ blockHashes }) => blockHashes.join()));
    expect(spaces.size).toBe(all.length);
    for (const { blockHashes, work } of all) {
      // As an engine hashes what it generates.
      const { salt } = GenerationWork.decode(work);
      const seed = hasher.hashSeed({ salt: salt ?? "" });
      expect(blockHashes).toEqual(hasher.blockHashes(tokens, 4, seed));
    }
    expect(GenerationWork.decode(all[1]?.work ?? new Uint8Array()).salt).toBe("a");
  });

  it.each<readonly [string, () => Promise<unknown>, string]>([
    [
      "a prompt over the context",
      () => prepare({ output: { maxTokens: null, n: 1 } }, { contextLength: 10 }),
      "context_length_exceeded prompt",
    ],
    [
      "an output over the context",
      () => prepare({}, { contextLength: 17 }),
      "context_length_exceeded max_tokens",
    ],
    [
      "a chat over the context",
      () =>
        prepare(
          { prompt: { kind: "chat", messages: [{ role: "user", content: "Hi" }] } },
          { contextLength: 8 },
        ),
      "context_length_exceeded messages",
    ],
    ["no prompt", () => prepare({ prompt: { kind: "text", text: "" } }), "invalid_request prompt"],
    [
      "a token that there is not",
      () => prepare({ prompt: { kind: "tokens", tokens: Uint32Array.of(256) } }),
      "invalid_request prompt",
    ],
    [
      "a bias of a token that there is not",
      () => prepare({ output: { maxTokens: 1, n: 1, logitBias: { "1": 1, "256": 1 } } }),
      "invalid_request logit_bias",
    ],
    [
      "a stop token that there is not",
      () => prepare({ output: { maxTokens: 1, n: 1, stopTokenIds: [255, 256] } }),
      "invalid_request stop_token_ids",
    ],
    [
      "more logprobs of its prompt than are written",
      () => prepare({ output: { maxTokens: 1, n: 1, promptLogprobs: 10 } }, withPromptLogprobs),
      "invalid_request prompt_logprobs",
    ],
    ["work that the bus does not take", () => prepare({}, {}, 20), "payload_too_large"],
    [
      "an endpoint that the model lacks",
      () => prepare({}, { modelType: ["chat"] }),
      "unsupported model",
    ],
    [
      "choices that the engine cannot make",
      () => prepare({ output: { maxTokens: 1, n: 2 } }, { capabilities: [] }),
      "unsupported n",
    ],
    [
      "logprobs that the engine cannot tell",
      () => prepare({ output: { maxTokens: 1, n: 1, logprobs: 0 } }, { capabilities: [] }),
      "unsupported logprobs",
    ],
    [
      "a seed that the engine does not take",
      () => prepare({ output: { maxTokens: 1, n: 1, seed: 1 } }, { capabilities: [] }),
      "unsupported seed",
    ],
  ])("refuses %s", async (_title, ask, refusal) => {
    expect(await refusalOf(ask())).toBe(refusal);
  });

  it("keeps the tokens of a prompt only where the answer repeats something of it", async () => {
    const returns = { promptText: true, tokens: false };
    const output = { maxTokens: 1, n: 1, promptLogprobs: 9 };

    expect((await prepare()).tokens).toBeNull();
    expect((await prepare({ returns })).tokens).toHaveLength(10);
    expect((await prepare({ output }, withPromptLogprobs)).tokens).toHaveLength(10);
  });

  it("takes a prompt that fills the context to its last token", async () => {
    const prepared = await prepare({}, { contextLength: 18 });

    expect(prepared.promptTokens).toBe(10);
  });
});
