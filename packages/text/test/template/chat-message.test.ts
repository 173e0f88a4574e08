import { describe, expect, it } from "vitest";
import { type ChatMessage, ChatTemplateError } from "../../src/index.ts";
import { flattenMessages } from "../../src/template/chat-message.ts";

function refusal(messages: unknown): string {
  try {
    flattenMessages(messages as ChatMessage[]);
  } catch (error) {
    if (error instanceof ChatTemplateError && error.failure === "messages") {
      return error.message;
    }
    throw error;
  }
  return "accepted";
}

describe("flattenMessages", () => {
  it("joins text parts and leaves everything else alone", () => {
    const parts = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    const calls = { role: "assistant", content: null, tool_calls: [{ id: "1" }] };
    expect(
      flattenMessages([{ role: "user", name: "n", content: parts }, calls, { role: "tool" }]),
    ).toEqual([{ role: "user", name: "n", content: "a\nb" }, calls, { role: "tool" }]);
    expect(parts).toHaveLength(2);
  });

  it.each<[string, unknown]>([
    ["messages: ", []],
    ["messages: ", "text"],
    ["messages[0].role: ", [{ content: "a" }]],
    ["messages[0].role: ", [null]],
    [
      "messages[1].content: ",
      [
        { role: "user", content: "a" },
        { role: "user", content: 5 },
      ],
    ],
    [
      "messages[0].content[1]: ",
      [{ role: "user", content: [{ type: "text", text: "a" }, { type: "image_url" }] }],
    ],
    ["messages[0].content[0]: ", [{ role: "user", content: [null] }]],
    ["messages[0].content[0]: ", [{ role: "user", content: [{ type: "text" }] }]],
  ])("refuses with %s", (start, messages) => {
    expect(refusal(messages)).toMatch(new RegExp(`^${start.replace(/[[\].]/g, "\\$&")}`));
  });
});
