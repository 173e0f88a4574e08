import { describe, expect, it } from "vitest";
import { parseChatTemplate } from "../../src/index.ts";
import { TemplateWarmUp } from "../../src/template/template-warm-up.ts";

const tokens = { bosToken: "<s>", eosToken: "</s>" };

function stepsOf(source: string): number {
  const work = new TemplateWarmUp(parseChatTemplate(source, tokens));
  let steps = 1;
  while (!work.step(1)) {
    steps += 1;
  }
  return steps;
}

describe("warming a template up", () => {
  it("renders many chats, one a step", () => {
    expect(stepsOf("{% for m in messages %}{{ m.content }}{% endfor %}")).toBe(40);
  });

  it("goes on where the template refuses some", () => {
    const source =
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ messages[0].content }}";
    expect(stepsOf(source)).toBe(40);
    expect(stepsOf("{{ nothing() }}")).toBe(40);
  });
});
