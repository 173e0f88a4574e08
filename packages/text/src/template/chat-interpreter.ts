// Hot: once per node of a template for each message of a chat. 10 µs a message.

import { Environment, Interpreter } from "@huggingface/jinja";

/** A value of a template, as far as it is looked into here. */
interface Value {
  readonly type: string;
  readonly value: unknown;
  __bool__(): { readonly value: boolean };
  toString(): string;
}

/** The library's class. Its own types cannot be resolved. */
const BaseInterpreter: new (
  environment: Environment,
) => {
  run(program: unknown): { readonly value: unknown };
  evaluate(node: TemplateNode | undefined, environment: Environment): Value;
} = Interpreter;

/** A node of a parsed template, with the fields that nodes of its type have. */
interface TemplateNode {
  readonly type: string;
  readonly value?: unknown;
  readonly operator?: { readonly value: string };
  readonly left?: TemplateNode;
  readonly right?: TemplateNode;
  readonly test?: TemplateNode;
  readonly body?: readonly TemplateNode[];
  readonly alternate?: readonly TemplateNode[];
  readonly defaultBlock?: readonly TemplateNode[];
  readonly iterable?: TemplateNode;
  readonly loopvar?: TemplateNode;
  readonly object?: TemplateNode;
  readonly property?: TemplateNode;
  readonly computed?: boolean;
  readonly callee?: TemplateNode;
  readonly args?: readonly TemplateNode[];
  /** The value of a node that was evaluated already. */
  readonly held?: Value;
}

/** What templates have written in them, and what loops say of their turns: made once per template and never changed. */
export class KnownValues {
  readonly literals: Map<TemplateNode, Value> = new Map();
  /** Whether the turns of a loop may end early. */
  readonly breaks: Map<TemplateNode, boolean> = new Map();
}

/**
 * Evaluates templates as the library does, and makes far fewer values on the way: they are what its time goes into. What is
 * not here, or not of the common kind, is left to the library.
 */
export class ChatInterpreter extends BaseInterpreter {
  private readonly known: KnownValues;

  constructor(environment: Environment, known: KnownValues) {
    super(environment);
    this.known = known;
  }

  override evaluate(node: TemplateNode | undefined, environment: Environment): Value {
    switch (node?.type) {
      case "Held":
        return node.held!;
      case "StringLiteral":
      case "IntegerLiteral":
        return this.literal(node, environment);
      case "Program":
        return makeText(this.writeBlock(node.body ?? [], environment));
      case "If": {
        const isTrue = isTruthy(this.evaluate(node.test, environment));
        return makeText(this.writeBlock((isTrue ? node.body : node.alternate) ?? [], environment));
      }
      case "For":
        return this.loop(node, environment);
      case "BinaryExpression":
        return this.binary(node, environment);
      case "MemberExpression":
        return this.member(node, environment);
      case "CallExpression":
        return this.call(node, environment);
      default:
        return super.evaluate(node, environment);
    }
  }

  private literal(node: TemplateNode, environment: Environment): Value {
    const known = this.known.literals.get(node);
    if (known !== undefined) {
      return known;
    }
    const value = super.evaluate(node, environment);
    this.known.literals.set(node, value);
    return value;
  }

  private writeBlock(statements: readonly TemplateNode[], environment: Environment): string {
    let text = "";
    for (const statement of statements) {
      const value = this.evaluate(statement, environment);
      if (value.type !== "NullValue" && value.type !== "UndefinedValue") {
        text += value.type === "StringValue" ? String(value.value) : value.toString();
      }
    }
    return text;
  }

  private loop(node: TemplateNode, environment: Environment): Value {
    if (node.iterable?.type === "SelectExpression" || node.loopvar?.type !== "Identifier") {
      return super.evaluate(node, environment);
    }
    const scope = new Environment(environment);
    const list = this.evaluate(node.iterable, scope);
    if (!isList(list) || this.mayBreak(node)) {
      return super.evaluate({ ...node, iterable: hold(list) }, environment);
    }
    const items = list.value as Value[];
    const name = String(node.loopvar.value);
    let text = "";
    for (let index = 0; index < items.length; index += 1) {
      scope.setVariable("loop", loopFacts(items, index));
      scope.setVariable(name, items[index]!);
      text += this.writeBlock(node.body ?? [], scope);
    }
    return makeText(items.length === 0 ? this.writeBlock(node.defaultBlock ?? [], scope) : text);
  }

  private mayBreak(node: TemplateNode): boolean {
    const known = this.known.breaks.get(node);
    if (known !== undefined) {
      return known;
    }
    const breaks = holdsBreak(node.body);
    this.known.breaks.set(node, breaks);
    return breaks;
  }

  private binary(node: TemplateNode, environment: Environment): Value {
    const operator = node.operator?.value;
    const left = this.evaluate(node.left, environment);
    if (operator === "and") {
      return isTruthy(left) ? this.evaluate(node.right, environment) : left;
    }
    if (operator === "or") {
      return isTruthy(left) ? left : this.evaluate(node.right, environment);
    }
    const right = this.evaluate(node.right, environment);
    const known = operator === undefined ? undefined : ofTexts(operator, left, right);
    return known ?? super.evaluate({ ...node, left: hold(left), right: hold(right) }, environment);
  }

  private member(node: TemplateNode, environment: Environment): Value {
    const object = this.evaluate(node.object, environment);
    if (node.computed === false && node.property?.type === "Identifier" && isRecord(object)) {
      const value = (object.value as Map<string, Value>).get(String(node.property.value));
      if (value !== undefined) {
        return value;
      }
    }
    return super.evaluate({ ...node, object: hold(object) }, environment);
  }

  /** Methods of a text are made anew for each text, all of them: the two that templates ask every message are answered here. */
  private call(node: TemplateNode, environment: Environment): Value {
    const { callee, args } = node;
    const method = callee?.computed === false ? String(callee.property?.value) : "";
    if (args?.length !== 1 || (method !== "startswith" && method !== "endswith")) {
      return super.evaluate(node, environment);
    }
    if (!isPlain.has(args[0]!.type)) {
      return super.evaluate(node, environment);
    }
    const argument = this.evaluate(args[0], environment);
    const object = this.evaluate(callee?.object, environment);
    if (object.type === "StringValue" && argument.type === "StringValue") {
      const [text, part] = [object.value as string, argument.value as string];
      return booleanOf(method === "startswith" ? text.startsWith(part) : text.endsWith(part));
    }
    const held = { ...node, args: [hold(argument)], callee: { ...callee, object: hold(object) } };
    return super.evaluate(held as TemplateNode, environment);
  }
}

/** What an operator makes of two texts; undefined for other operators and operands. */
function ofTexts(operator: string, left: Value, right: Value): Value | undefined {
  if (left.type !== "StringValue" || right.type !== "StringValue") {
    return undefined;
  }
  const [one, other] = [left.value as string, right.value as string];
  switch (operator) {
    case "==":
      return booleanOf(one === other);
    case "!=":
      return booleanOf(one !== other);
    case "in":
      return booleanOf(other.includes(one));
    case "+":
      return makeText(one + other);
    default:
      return undefined;
  }
}

/** Arguments that are one value, not several or named ones. */
const isPlain: ReadonlySet<string> = new Set(["StringLiteral", "Identifier", "MemberExpression"]);

function hold(value: Value): TemplateNode {
  return { type: "Held", held: value };
}

function isList(value: Value): boolean {
  return value.type === "ArrayValue" || value.type === "TupleValue";
}

function isRecord(value: Value): boolean {
  return value.type === "ObjectValue" || value.type === "NamespaceValue";
}

function isTruthy(value: Value): boolean {
  const held: unknown = value.value;
  // Lists and records know themselves whether they are empty.
  return typeof held === "object" && held !== null ? value.__bool__().value : Boolean(held);
}

function holdsBreak(node: unknown): boolean {
  if (Array.isArray(node)) {
    return node.some(holdsBreak);
  }
  if (typeof node !== "object" || node === null) {
    return false;
  }
  const { type } = node as { readonly type?: unknown };
  return type === "Break" || type === "Continue" || Object.values(node).some(holdsBreak);
}

/** The library's value of a plain one. */
function libraryValue(plain: unknown): Value {
  return new Environment().set("value", plain);
}

const isTrue = libraryValue(true);
const isFalse = libraryValue(false);
const isUndefined = libraryValue(undefined);
const integers: Value[] = [];

function booleanOf(value: boolean): Value {
  return value ? isTrue : isFalse;
}

function integerOf(value: number): Value {
  while (integers.length <= value) {
    integers.push(libraryValue(integers.length));
  }
  return integers[value]!;
}

/** What `loop` is in one turn. */
function loopFacts(items: readonly Value[], index: number): Value {
  const { length } = items;
  const facts = new Map<string, Value>([
    ["index", integerOf(index + 1)],
    ["index0", integerOf(index)],
    ["revindex", integerOf(length - index)],
    ["revindex0", integerOf(length - index - 1)],
    ["first", booleanOf(index === 0)],
    ["last", booleanOf(index === length - 1)],
    ["length", integerOf(length)],
    ["previtem", items[index - 1] ?? isUndefined],
    ["nextitem", items[index + 1] ?? isUndefined],
  ]);
  return new RecordValue(facts) as unknown as Value;
}

function makeText(text: string): Value {
  return new TextValue(text) as unknown as Value;
}

/** Made as the library's texts are, in a tenth of the time: its classes define each field twice. */
const TextValue = lightClass("StringValue", "");
const RecordValue = lightClass("ObjectValue", {});

/** A class whose instances are the library's values of the kind of an example. */
function lightClass(type: string, example: unknown): new (value: unknown) => object {
  function LightValue(this: { type: string; value: unknown; _builtins: unknown }, value: unknown) {
    this.type = type;
    this.value = value;
    this._builtins = undefined;
  }
  LightValue.prototype = Object.getPrototypeOf(libraryValue(example));
  return LightValue as unknown as new (
    value: unknown,
  ) => object;
}
