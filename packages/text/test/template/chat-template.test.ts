import { describe, expect, it } from "vitest";
import {
  ChatTemplateError,
  type ChatTemplateFailure,
  parseChatTemplate,
  type RenderOptions,
} from "../../src/index.ts";
import { makeModelConfig } from "../support/tokenizer-json.ts";

const tokens = { bosToken: "<s>", eosToken: "</s>" };
const hello = [{ role: "user", content: "Hello" }];

function render(source: string, options?: RenderOptions): string {
  return parseChatTemplate(source, tokens).render(hello, options);
}

function failureOf(action: () => unknown): ChatTemplateFailure | "none" {
  try {
    action();
  } catch (error) {
    if (error instanceof ChatTemplateError) {
      return error.failure;
    }
    throw error;
  }
  return "none";
}

describe("a chat template", () => {
  it("writes turns, and the beginning of the assistant's unless told not to", () => {
    const template = parseChatTemplate(makeModelConfig.chat_template, tokens);
    const turn = "<|im_start|>user\nHello<|im_end|>\n";
    expect(template.render(hello)).toBe(`${turn}<|im_start|>assistant\n`);
    expect(template.render(hello, { addGenerationPrompt: false })).toBe(turn);
  });

  it("finds the model's tokens, tools and further variables", () => {
    expect(render("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}")).toBe("<s>Hello</s>");
    expect(render("{% if tools is none %}none{% endif %}")).toBe("none");
    expect(render("{{ tools[0].name }}", { tools: [{ name: "search" }] })).toBe("search");
    expect(render("{{ enable_thinking }}", { variables: { enable_thinking: false } })).toBe(
      "false",
    );
    expect(render("{{ bos_token }}", { variables: { bos_token: "other", messages: [] } })).toBe(
      "<s>",
    );
  });

  it("trims line breaks and indentation of blocks, as the reference does", () => {
    expect(
      render(
        "{% for m in messages %}\n  {% if true %}\n{{ m.role }}\n  {% endif %}\n{% endfor %}\n",
      ),
    ).toBe("user\n");
  });

  it("counts with range", () => {
    expect(render("{% for i in range(3) %}{{ i }}{% endfor %}")).toBe("012");
    expect(render("{% for i in range(5, 1, -2) %}{{ i }},{% endfor %}")).toBe("5,3,");
  });

  it("takes the date from its caller, and has none otherwise", () => {
    const source =
      "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% else %}no date{% endif %}";
    expect(render(source, { nowMs: 1_700_000_000_000 })).toBe("14 Nov 2023");
    expect(render(source)).toBe("no date");
  });

  it("tells a refusal from a failure", () => {
    expect(failureOf(() => render("{{ raise_exception('roles must alternate') }}"))).toBe(
      "messages",
    );
    expect(() => render("{{ raise_exception('roles must alternate') }}")).toThrow(
      "roles must alternate",
    );
    expect(failureOf(() => render("{{ messages | no_such_filter }}"))).toBe("failed");
    expect(failureOf(() => render("{{ range(1, 2, 0) }}"))).toBe("failed");
    expect(failureOf(() => parseChatTemplate("{% if %}", tokens))).toBe("syntax");
    expect(failureOf(() => parseChatTemplate("{{ bos_token }}", tokens).render([]))).toBe(
      "messages",
    );
  });

  it("can be rendered again and again", () => {
    const template = parseChatTemplate("{% set x = messages|length %}{{ x }}", tokens);
    expect([template.render(hello), template.render([...hello, ...hello])]).toEqual(["1", "2"]);
  });
});
