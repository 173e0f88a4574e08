/** Made-up JSON for a request with a grammar: a valid value, with the mock text in its first string that has no bounds. */

import {
  leastDepth,
  leastDepths,
  type OutputShape,
  type StringFormat,
  unsupportedGrammar,
  type ValueShape,
} from "@baton/text";

/** What the made-up values are made from. */
export interface ShapeVoice {
  /** The first 32 bits of the prompt's hash: numbers and dates come from it. */
  readonly promptHash: number;
  /** Words of the mock text; each but the first begins with its space. */
  readonly wordAt: (index: number) => string;
  /** How many words the string without bounds has. */
  readonly words: number;
}

/** Deeper than this only what must be there is written. */
const richDepth = 3;
/** A value of more pieces is refused. */
const maxPieces = 10_000;
/** Words of strings with bounds, as far as these allow. */
const fewWords = 2;

/**
 * The text piece by piece: what comes before the words of the first string without bounds, these, and what comes after. Throws
 * `unsupported` for a shape whose least value is too large to be made up.
 */
export function shapePieces(
  shape: OutputShape,
  voice: ShapeVoice,
): (index: number) => string | undefined {
  const writer = new ShapeWriter(shape, voice);
  writer.write(shape.root, 0);
  const { before, after } = writer;
  const words = after === null ? 0 : voice.words;
  return (index) => {
    if (index < before.length) return before[index];
    const word = index - before.length;
    return word < words ? voice.wordAt(word) : after?.[word - words];
  };
}

class ShapeWriter {
  readonly before: string[] = [];
  /** Null until a string without bounds was come upon. */
  after: string[] | null = null;
  readonly #shape: OutputShape;
  readonly #voice: ShapeVoice;
  readonly #depths: readonly number[];
  #pieces = 0;

  constructor(shape: OutputShape, voice: ShapeVoice) {
    this.#shape = shape;
    this.#voice = voice;
    this.#depths = leastDepths(shape.definitions);
  }

  write(shape: ValueShape, depth: number): void {
    switch (shape.kind) {
      case "any":
        this.#string(0, null);
        break;
      case "string":
        this.#string(shape.minLength, shape.maxLength);
        break;
      case "object":
        this.#object(shape, depth);
        break;
      case "array":
        this.#array(shape, depth);
        break;
      case "choice":
        this.write(this.#choose(shape.options, depth), depth);
        break;
      case "ref":
        this.write(this.#shape.definitions[shape.definition] ?? { kind: "null" }, depth);
        break;
      default:
        this.#put(plainText(shape, this.#voice.promptHash));
    }
  }

  #object(shape: ValueShape & { kind: "object" }, depth: number): void {
    const { properties, others } = shape;
    const isRich = depth < richDepth;
    const entries = properties.filter(({ isRequired }) => isRequired || isRich);
    if (others !== null && isRich) {
      entries.push({ name: "text", value: others, isRequired: false });
    }
    this.#put("{");
    for (const [index, { name, value }] of entries.entries()) {
      this.#put(`${index === 0 ? "" : ","}${JSON.stringify(name)}:`);
      this.write(value, depth + 1);
    }
    this.#put("}");
  }

  #array(shape: ValueShape & { kind: "array" }, depth: number): void {
    const { prefix, rest, minRest, maxRest } = shape;
    const hasOneMore = depth < richDepth && maxRest !== 0;
    const count = Math.max(minRest, hasOneMore ? 1 : 0);
    const items = [...prefix, ...new Array<ValueShape>(count).fill(rest)];
    this.#put("[");
    for (const [index, item] of items.entries()) {
      if (index > 0) this.#put(",");
      this.write(item, depth + 1);
    }
    this.#put("]");
  }

  /** The first option, or, where the value is deep already, the shallowest. */
  #choose(options: readonly ValueShape[], depth: number): ValueShape {
    const depths = options.map((option) => leastDepth(option, this.#depths));
    const least = Math.min(...depths);
    const index = depths.findIndex((own) =>
      depth < richDepth ? own < Number.POSITIVE_INFINITY : own === least,
    );
    return options[index] ?? { kind: "null" };
  }

  #string(minLength: number, maxLength: number | null): void {
    const { wordAt } = this.#voice;
    this.#put('"');
    if (minLength === 0 && maxLength === null && this.after === null) {
      this.after = [];
    } else {
      let text = "";
      for (let word = 0; word < fewWords || text.length < minLength; word++) text += wordAt(word);
      const bounded = text.slice(0, Math.max(minLength, maxLength ?? text.length));
      if (bounded !== "") this.#put(bounded);
    }
    this.#put('"');
  }

  #put(piece: string): void {
    this.#pieces += 1;
    if (this.#pieces > maxPieces) throw unsupportedGrammar("a value as large as its least one");
    (this.after ?? this.before).push(piece);
  }
}

type PlainShape = Exclude<
  ValueShape,
  { readonly kind: "any" | "string" | "object" | "array" | "choice" | "ref" }
>;

function plainText(shape: PlainShape, hash: number): string {
  switch (shape.kind) {
    case "literals":
      return shape.texts[hash % shape.texts.length] ?? "null";
    case "formatted":
      return `"${formatted(shape.format, hash)}"`;
    case "number":
      return `${hash}.5`;
    case "integer":
      return String(hash);
    case "range":
      return String(
        hash >= shape.min && hash <= shape.max
          ? hash
          : shape.min + (hash % (shape.max - shape.min + 1)),
      );
    case "boolean":
      return hash % 2 === 0 ? "true" : "false";
    case "null":
      return "null";
  }
}

function formatted(format: StringFormat, hash: number): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = `20${two(hash % 100)}-${two(1 + (hash % 12))}-${two(1 + (hash % 28))}`;
  const time = `${two(hash % 24)}:${two(hash % 60)}:${two(hash % 59)}Z`;
  const hex = hash.toString(16).padStart(8, "0");
  const texts: Readonly<Record<StringFormat, string>> = {
    date,
    time,
    "date-time": `${date}T${time}`,
    uuid: `${hex}-0000-4000-8000-0000${hex}`,
  };
  return texts[format];
}
