import { requestId } from "@baton/protocol";
import { bench, describe } from "vitest";
import { defaultBodyLimits } from "../../src/http/body-limits.ts";
import { BodyParser } from "../../src/http/parse-body.ts";

const frame = { requestId: requestId("r1"), clientRequestId: null, traceparent: null };
const bodies = new BodyParser(defaultBodyLimits);
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
const pinned = {
  ...chat,
  cache_salt: "tenant",
  baton: {
    session: { id: "s", parent: "p" },
    prefill_worker: "p-1",
    decode_worker: "d-1",
    constraints: { required: ["gpu=a"], preferred: { fast: 1 } },
    router: { overlap_score_credit: 1, router_temperature: 0 },
  },
};
const headers = { "x-tenant-id": "t", "x-dynamo-session-id": "s" };
const tokens = { model: "m", prompt: Array.from({ length: 1_024 }, (_, id) => id) };

describe("reading a body", () => {
  bench("a chat of six turns", () => {
    bodies.parse("chat", chat, frame);
  });
  bench("a chat that says much about its routing", () => {
    bodies.parse("chat", pinned, frame, headers);
  });
  bench("1,024 token ids", () => {
    bodies.parse("completions", tokens, frame);
  });
});
