import { Environment, Interpreter, Template } from "@huggingface/jinja";
import { describe, expect, it } from "vitest";
import { ChatInterpreter, KnownValues } from "../../src/template/chat-interpreter.ts";
import { makeModelConfig } from "../support/tokenizer-json.ts";

const chats: readonly unknown[] = [
  [],
  [{ role: "user", content: "Hi" }],
  [
    { role: "system", content: "Be brief.", name: "" },
    { role: "user", content: " <tag> two " },
    { role: "assistant", content: "<think>hm</think>\n\nfour", reasoning: null },
    { role: "user", content: "", n: 0, ok: false, parts: [], more: { a: [1, "x"] } },
    { role: "assistant", content: null, calls: [{ name: "f", arguments: { x: 1.5, y: "é" } }] },
    { role: "tool", content: "4", index: 3 },
  ],
];

function environmentOf(messages: unknown): Environment {
  const environment = new Environment();
  const globals = { messages, add_generation_prompt: true, none: null, true: true, false: false };
  for (const [name, value] of Object.entries(globals)) {
    environment.set(name, value);
  }
  environment.set("fail", (why: unknown) => {
    throw new Error(`refused: ${String(why)}`);
  });
  return environment;
}

function outcomeOf(run: () => { readonly value: unknown }): string {
  try {
    return `text ${String(run().value)}`;
  } catch (error) {
    return `error ${(error as Error).message}`;
  }
}

const known = new Map<string, { readonly template: Template; readonly values: KnownValues }>();

/** What the library makes of a template, and what we do: the second time with what is known of it. */
function bothOf(source: string, messages: unknown): readonly [library: string, ours: string] {
  const parts = known.get(source) ?? { template: new Template(source), values: new KnownValues() };
  known.set(source, parts);
  const { template, values } = parts;
  const ours = () =>
    outcomeOf(() => new ChatInterpreter(environmentOf(messages), values).run(template.parsed));
  ours();
  return [outcomeOf(() => new Interpreter(environmentOf(messages)).run(template.parsed)), ours()];
}

describe("the evaluation of a template", () => {
  it.each([
    ["a chat", makeModelConfig.chat_template],
    [
      "what loops know",
      "{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem.role }}{{ loop.nextitem.role }},{% endfor %}",
    ],
    ["what a loop is", "{% for m in messages %}{{ loop }}{{ loop | tojson }}{% endfor %}"],
    ["loops without turns", "{% for m in messages %}x{% else %}none{% endfor %}{{ m is defined }}"],
    [
      "loops in loops",
      "{% for m in messages %}{% for key in m %}{{ key }}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    ],
    [
      "loops over pairs",
      "{% for m in messages %}{% for k, v in m.items() %}{{ k }}={{ v }};{% endfor %}{% endfor %}",
    ],
    [
      "loops over some",
      "{% for m in messages if m.role == 'user' %}{{ loop.index }}{{ m.content }}{% endfor %}",
    ],
    [
      "loops that end early",
      "{% for m in messages %}{% if m.role == 'user' %}{% continue %}{% endif %}{{ m.role }}{% if m.role == 'tool' %}{% break %}{% endif %}{% endfor %}",
    ],
    ["loops over no list", "{% for m in add_generation_prompt %}x{% endfor %}"],
    [
      "slices",
      "{% for m in messages[::-1] %}{{ m.role }}{{ loop.index0 }}{% endfor %}{{ messages[1:][0].role }}{{ messages[-1].content }}",
    ],
    [
      "places that are not there",
      "{{ messages[9].role is defined }}{{ messages[0]['role'] }}{{ messages[0].nothing }}{{ nothing.role }}",
    ],
    [
      "numbers",
      "{% for m in messages %}{{ messages | length - 1 - loop.index0 }}{{ 2 * 3 // 2 }}{{ 7 % 4 }}{{ 1.5 + 1 }}{% endfor %}",
    ],
    [
      "comparisons",
      "{% for m in messages %}{{ m.content == 'Hi' }}{{ m.content != none }}{{ m.n == 0 }}{{ m.role in ['user', 'tool'] }}{{ 'think' in (m.content or '') }}{{ 'e' not in m.role }}{{ '1' == 1 }}{% endfor %}",
    ],
    [
      "truth",
      "{% for m in messages %}{% for v in [m.content, m.name, m.n, m.ok, m.parts, m.more, m.reasoning, m.role] %}{{ 1 if v else 0 }}{{ not v }}{{ v and 'a' }}{{ v or 'b' }}{% if v %}t{% elif loop.first %}f{% else %}e{% endif %}{% endfor %}{% endfor %}",
    ],
    [
      "sums of texts",
      "{% for m in messages %}{{ '<' + m.role + '>' ~ loop.index + '.' }}{% endfor %}",
    ],
    ["sums with nothing", "{{ 'a' + messages[0].content + none }}"],
    [
      "methods of texts",
      "{% for m in messages %}{% set c = m.content or '' %}{{ c.startswith('H') }}{{ c.endswith('r') }}{{ c.startswith(('<', ' ')) }}{{ c.strip() }}{{ c.split('</think>')[-1].lstrip('\\n') }}{{ c.startswith(m.role) }}{{ c | trim | upper }}{% endfor %}",
    ],
    ["methods of what is no text", "{{ messages.startswith('a') }}"],
    ["methods without an argument", "{{ 'a'.startswith() }}"],
    [
      "namespaces",
      "{% set ns = namespace(found=false, last=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.found = true %}{% set ns.last = loop.index %}{% endif %}{% endfor %}{{ ns.found }}{{ ns.last }}",
    ],
    [
      "variables of a loop",
      "{% set x = 1 %}{% for m in messages %}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}",
    ],
    [
      "macros",
      "{% macro turn(m, end='!') %}[{{ m.role }}:{{ m.content }}{{ end }}]{% endmacro %}{% for m in messages %}{{ turn(m) }}{{ turn(m, end='?') }}{% endfor %}",
    ],
    [
      "filters",
      "{% for m in messages %}{{ m | tojson }}{{ m.content | default('none') }}{% endfor %}{{ messages | map(attribute='role') | join(',') }}",
    ],
    [
      "blocks that are set",
      "{% set text %}{% for m in messages %}{{ m.role }}{% endfor %}{% endset %}{{ text | upper }}",
    ],
    [
      "refusals",
      "{% for m in messages %}{% if m.role == 'tool' %}{{ fail('no ' + m.role) }}{% endif %}{% endfor %}",
    ],
  ])("gives what the library gives, for %s", (_, source) => {
    for (const messages of chats) {
      const [library, ours] = bothOf(source, messages);
      expect(ours).toBe(library);
    }
  });
});
