import { bench, describe } from "vitest";
import { StreamJson } from "../../src/http/answer-json.ts";

const json = new StreamJson({
  endpoint: "chat",
  requestId: "req-abcdefghijklmnop",
  clientRequestId: null,
  choicesPerPrompt: 1,
  model: "some-model",
  created: 1_700_000_000,
  wish: {
    stream: true,
    includeUsage: true,
    continuousUsage: false,
    echo: false,
    echoOnly: false,
    includePromptLogprobs: false,
    includeRoute: false,
    includeTiming: false,
    includeWorkerIds: false,
    includeNvextTiming: false,
  },
});

describe("the events of a stream", () => {
  bench("one delta of a word", () => {
    json.delta({
      choice: 0,
      text: " hello",
      logprobs: null,
      tokens: null,
      outputTokens: 1,
      finishReason: null,
    });
  });
});
