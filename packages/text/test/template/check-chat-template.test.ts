import { describe, expect, it } from "vitest";
import { checkChatTemplate } from "../../src/index.ts";
import { makeModelConfig } from "../support/tokenizer-json.ts";

const tokens = { bosToken: "<s>", eosToken: "</s>" };
const loop = "{% for m in messages %}{{ m.content }}{% endfor %}";

describe("checkChatTemplate", () => {
  it("finds a plain template usable", () => {
    const check = checkChatTemplate(makeModelConfig.chat_template, tokens);
    expect(check).toMatchObject({ kind: "usable", takesSystem: true });
  });

  it.each([
    [
      "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ m.content }}{% endfor %}",
    ],
    ["{% for m in messages %}{% if m.role != 'system' %}{{ m.content }}{% endif %}{% endfor %}"],
  ])("says if there is no place for a system message: %s", (source) => {
    expect(checkChatTemplate(source, tokens)).toMatchObject({ kind: "usable", takesSystem: false });
  });

  it.each([
    ["cannot be parsed", "{% for %}"],
    [
      "leaves out the text of a message of role assistant",
      "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}",
    ],
    ["does not take these messages", `{{ messages | no_such_filter }}${loop}`],
    ["never", `{{ raise_exception('never') }}${loop}`],
  ])("refuses a template that %s", (problem, source) => {
    const check = checkChatTemplate(source, tokens);
    expect(check.kind === "unusable" ? check.problem : "usable").toContain(problem);
  });
});
