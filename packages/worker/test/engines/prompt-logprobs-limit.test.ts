import { requestId } from "@baton/protocol";
import { expect, it } from "vitest";
import { checkPromptLogprobs } from "../../src/engines/prompt-logprobs-limit.ts";

const check = (tokens: number, promptLogprobs?: number) => () =>
  checkPromptLogprobs({
    requestId: requestId("r1"),
    dpRank: 0,
    tokens: new Uint32Array(tokens),
    blockHashes: new Uint8Array(0),
    sequenceHashes: new Uint8Array(0),
    params: { maxTokens: 1, ...(promptLogprobs === undefined ? {} : { promptLogprobs }) },
    lora: null,
    salt: null,
  });

it("bounds what is told of a prompt, alternatives counted", () => {
  expect(check(500_000)).not.toThrow();
  expect(check(262_144, 0)).not.toThrow();
  expect(check(65_536, 3)).not.toThrow();
  for (const tooMany of [check(262_145, 0), check(65_536, 4)]) {
    expect(tooMany).toThrowError(
      expect.objectContaining({
        code: "unsupported",
        details: expect.objectContaining({ param: "prompt_logprobs" }),
      }),
    );
  }
});
