import { bench, describe } from "vitest";
import { parseJsonBytes } from "../../src/http/parse-json.ts";

const turns = Array.from({ length: 6 }, (_, turn) => ({
  role: turn % 2 === 0 ? "user" : "assistant",
  content: "some words of a turn ".repeat(10),
}));
const bodies = {
  "a chat of six turns": { model: "m", messages: turns, max_tokens: 100, temperature: 0.7 },
  "a prompt of 40 kB with quotes": { model: "m", prompt: 'Some "quoted" words, '.repeat(2_000) },
  "8,192 token ids": {
    model: "m",
    prompt: Array.from({ length: 8_192 }, (_, at) => (at * 7) % 50_000),
  },
};

describe("the bytes of a body", () => {
  for (const [name, body] of Object.entries(bodies)) {
    const bytes = Buffer.from(JSON.stringify(body));
    bench(`${name}, checked`, () => {
      parseJsonBytes(bytes);
    });
    bench(`${name}, by the parser alone`, () => {
      JSON.parse(bytes.toString("utf8"));
    });
  }
});
