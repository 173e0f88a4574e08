import { describe, expect, it } from "vitest";
import { BodyParser } from "../../src/http/parse-body.ts";
import { bodyParser, bodyFrame as frame, plainWish, refusalOf } from "../support/bodies.ts";

function generate(changes: object = {}) {
  const body = { model: "m", token_ids: [1, 2], ...changes };
  const { requests, wish } = bodyParser.parse("generate", body, frame);
  return { request: requests[0], wish };
}

describe("a body of token ids", () => {
  it("wants token ids back", () => {
    expect(generate().request).toEqual({
      ...frame,
      model: "m",
      prompt: { kind: "tokens", tokens: Uint32Array.of(1, 2) },
      output: { maxTokens: null, n: 1 },
      stop: [],
      returns: { promptText: false, tokens: true },
    });
  });

  it("says how to sample in an object of its own, and may bring its own id", () => {
    const { request, wish } = generate({
      request_id: "mine",
      stream: true,
      stream_options: { include_usage: true },
      features: null,
      priority: 0,
      sampling_params: {
        max_tokens: 4,
        n: 2,
        logprobs: 1,
        stop: ["x"],
        temperature: null,
        detokenize: false,
        skip_special_tokens: true,
      },
    });

    expect(request).toMatchObject({ clientRequestId: "mine", stop: ["x"] });
    expect(request.output).toEqual({ maxTokens: 4, n: 2, logprobs: 1 });
    expect(wish).toEqual({ ...plainWish, stream: true, includeUsage: true });
  });

  it("needs a model only where there are several", () => {
    const limits = { maxStopTexts: 1, maxPrompts: 1 };
    const lonely = new BodyParser(limits, () => "only");

    const { requests } = lonely.parse("generate", { token_ids: [1] }, frame);

    expect(requests[0].model).toBe("only");
    expect(refusalOf("generate", { token_ids: [1] })).toBe(
      "invalid_request model: model is required",
    );
  });

  it.each<readonly [string, object, string]>([
    ["no tokens", { token_ids: [] }, "invalid_request token_ids: token_ids must not be empty"],
    [
      "text",
      { token_ids: "Hi" },
      "invalid_request token_ids: token_ids must be an array of token ids",
    ],
    [
      "an unknown way to sample",
      { sampling_params: { mirostat: 2 } },
      "invalid_request sampling_params.mirostat: sampling_params.mirostat is not known",
    ],
    [
      "a way to sample that is not served",
      { sampling_params: { bad_words: ["x"] } },
      "unsupported sampling_params.bad_words: sampling_params.bad_words is not supported here",
    ],
    [
      "heat",
      { sampling_params: { temperature: 3 } },
      "invalid_request sampling_params.temperature: sampling_params.temperature must be at most 2",
    ],
    [
      "more at least than at most",
      { sampling_params: { min_tokens: 3, max_tokens: 2 } },
      "invalid_request sampling_params.min_tokens: sampling_params.min_tokens must not be above max_tokens",
    ],
    [
      "a handoff of its own, however deep",
      { sampling_params: { extra_args: { kv_transfer_params: {} } } },
      "invalid_request sampling_params.extra_args.kv_transfer_params: sampling_params.extra_args.kv_transfer_params is set between the workers and not by clients",
    ],
    [
      "pictures",
      { features: { mm_hashes: {} } },
      "unsupported features: features is not supported here",
    ],
    [
      "an id that is no header",
      { request_id: "a b" },
      "invalid_request request_id: request_id must be 1 to 200 visible ASCII characters",
    ],
  ])("is refused with %s", (_title, changes, refusal) => {
    expect(refusalOf("generate", { model: "m", token_ids: [1], ...changes })).toBe(refusal);
  });
});
