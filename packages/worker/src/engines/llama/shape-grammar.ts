/** Writes a shape as a grammar of llama.cpp (GBNF): one rule for each part, so that nothing nests deeply. */

import type {
  ArrayShape,
  ObjectShape,
  OutputShape,
  PropertyShape,
  StringFormat,
  ValueShape,
} from "@baton/text";
import { integersBetween } from "./integer-range.ts";

/** Whitespace where JSON allows it: little, or a weak model would write nothing else. */
const space = "space";
/**
 * Rules that any shape may use. A letter is one code point, written just one way or by a short escape: lengths are then
 * exact, and no half of a surrogate pair is ever written.
 */
const common = `
space ::= | " " | "\\n" [ ]{0,12}
letter ::= [^"\\\\\\x00-\\x1F\\x7F] | "\\\\" (["\\\\/bfnrt] | "u00" [01] [0-9a-fA-F])
text ::= "\\"" letter* "\\""
whole ::= "-"? ("0" | [1-9] [0-9]{0,14})
decimal ::= whole ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?
truth ::= "true" | "false"
anything ::= text | decimal | truth | "null" | list | map
list ::= "[" space (anything (space "," space anything)*)? space "]"
map ::= "{" space (entry (space "," space entry)*)? space "}"
entry ::= text space ":" space anything
digit ::= [0-9]
hex ::= [0-9a-fA-F]
day ::= "0" [1-9] | "1" digit | "2" [0-8]
date ::= digit{4} "-" ("0" [1-9] | "1" [0-2]) "-" day
time ::= ([01] digit | "2" [0-3]) ":" [0-5] digit ":" [0-5] digit ("." digit{1,6})? "Z"
`;

/** Every date has its day in every month, which is all that a grammar can see to. */
const formatRules: Readonly<Record<StringFormat, string>> = {
  date: `"\\"" date "\\""`,
  time: `"\\"" time "\\""`,
  "date-time": `"\\"" date "T" time "\\""`,
  uuid: `"\\"" hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12} "\\""`,
};

/** The grammar whose texts are the JSON values of a shape. */
export function writeShapeGrammar(shape: OutputShape): string {
  return new GrammarWriter().write(shape);
}

class GrammarWriter {
  readonly #rules: string[] = [];

  write(shape: OutputShape): string {
    for (const [index, definition] of shape.definitions.entries()) {
      this.#rules.push(`definition-${index} ::= ${this.#value(definition)}`);
    }
    this.#rules.push(`root ::= ${this.#value(shape.root)}`);
    return `${this.#rules.join("\n")}${common}`;
  }

  /** An expression for one value: a rule's name, or what needs no brackets around it. */
  #value(shape: ValueShape): string {
    switch (shape.kind) {
      case "any":
        return "anything";
      case "literals":
        return this.#rule(shape.texts.map(quote).join(" | "));
      case "string":
        return this.#text(shape.minLength, shape.maxLength);
      case "formatted":
        return this.#rule(formatRules[shape.format]);
      case "number":
        return "decimal";
      case "integer":
        return "whole";
      case "range":
        return this.#rule(integersBetween(shape.min, shape.max));
      case "boolean":
        return "truth";
      case "null":
        return '"null"';
      case "object":
        return this.#rule(this.#object(shape));
      case "array":
        return this.#rule(this.#array(shape));
      case "choice":
        return this.#rule(shape.options.map((option) => this.#value(option)).join(" | "));
      case "ref":
        return `definition-${shape.definition}`;
    }
  }

  #text(minLength: number, maxLength: number | null): string {
    if (minLength === 0 && maxLength === null) return "text";
    return this.#rule(`"\\"" letter{${minLength},${maxLength ?? ""}} "\\""`);
  }

  #object({ properties, others }: ObjectShape): string {
    if (properties.length === 0) {
      if (others === null) return `"{" ${space} "}"`;
      const entry = this.#rule(`text ${space} ":" ${space} ${this.#value(others)}`);
      return `"{" ${space} (${entry} (${space} "," ${space} ${entry})*)? ${space} "}"`;
    }
    return `"{" ${space} ${this.#properties(properties)} ${space} "}"`;
  }

  /**
   * Properties in their order, optional ones left out at will. Two rules for each: what may follow where nothing is
   * written yet, and where something is, which is then parted by a comma.
   */
  #properties(properties: readonly PropertyShape[]): string {
    let atStart = "";
    let after = "";
    for (const property of [...properties].reverse()) {
      const entry = this.#rule(
        `${quote(JSON.stringify(property.name))} ${space} ":" ${space} ${this.#value(property.value)}`,
      );
      const withEntry = `${entry} ${after}`;
      const withComma = `${space} "," ${space} ${entry} ${after}`;
      const isLast = after === "";
      if (property.isRequired) {
        atStart = this.#rule(withEntry);
        after = this.#rule(withComma);
      } else {
        atStart = this.#rule(isLast ? `(${withEntry})?` : `${withEntry} | ${atStart}`);
        after = this.#rule(isLast ? `(${withComma})?` : `${withComma} | ${after}`);
      }
    }
    return atStart;
  }

  #array({ prefix, rest, minRest, maxRest }: ArrayShape): string {
    const head = prefix.map((item) => this.#value(item)).join(` ${space} "," ${space} `);
    if (maxRest === 0) return `"[" ${space} ${head} ${space} "]"`;
    const item = this.#value(rest);
    const next = `(${space} "," ${space} ${item})`;
    if (prefix.length > 0) {
      return `"[" ${space} ${head} ${next}{${minRest},${maxRest ?? ""}} ${space} "]"`;
    }
    const more = `${next}{${Math.max(0, minRest - 1)},${maxRest === null ? "" : maxRest - 1}}`;
    const items = minRest === 0 ? `(${item} ${more})?` : `${item} ${more}`;
    return `"[" ${space} ${items} ${space} "]"`;
  }

  /** Gives an expression a name. */
  #rule(expression: string): string {
    const name = `part-${this.#rules.length}`;
    this.#rules.push(`${name} ::= ${expression}`);
    return name;
  }
}

/** A text as a literal of the grammar. JSON text has no control characters. */
function quote(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
