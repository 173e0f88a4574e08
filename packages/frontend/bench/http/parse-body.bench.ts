import { requestId } from "@baton/protocol";
import { bench, describe } from "vitest";
import { parseBody } from "../../src/http/parse-body.ts";

const frame = { requestId: requestId("r1"), clientRequestId: null, traceparent: null };
const chat = {
  model: "m",
  messages: Array.from({ length: 6 }, (_, turn) => ({
    role: turn % 2 === 0 ? "user" : "assistant",
    content: "some words of a turn ".repeat(10),
  })),
  max_tokens: 100,
  temperature: 0.7,
  stream: true,
  stream_options: { include_usage: true },
};
const tokens = { model: "m", prompt: Array.from({ length: 1_024 }, (_, id) => id) };

describe("reading a body", () => {
  bench("a chat of six turns", () => {
    parseBody("chat", chat, frame);
  });
  bench("1,024 token ids", () => {
    parseBody("completions", tokens, frame);
  });
});
