import { describe, expect, it } from "vitest";
import { maxContainers, maxDepth, parseJson, parseJsonBytes } from "../../src/http/parse-json.ts";

function problemOf(read: () => unknown): { code: string; message: string; param?: string } {
  try {
    read();
  } catch (error) {
    const { code, message, details } = error as { code: string; message: string; details: object };
    return { code, message, ...details };
  }
  throw new Error("nothing was refused");
}

describe("the key __proto__", () => {
  it.each(['{"a":{"__proto__":1}}', '{"a":[{"__pro\\u0074o__":1}]}', '{"\\u005f_proto__":{}}'])(
    "is refused in %s",
    (text) => {
      expect(() => parseJson(text)).toThrow("no key may be __proto__");
    },
  );

  it("may stand in texts", () => {
    expect(parseJson('{"a":"__proto__ \\u005f"}')).toEqual({ a: "__proto__ _" });
  });
});

describe("a body as JSON", () => {
  it.each([
    '{"a":[1]}',
    '{"a":"\\"b\\":","c":"\\\\"}',
    ' { "a" \t\r\n : {"a" : [{"a":null}, {"a":1}]} } ',
    '["a","a",{"a":"a"}]',
    '{"a":"{\\"a\\":1,\\"a\\":2}"}',
    '"a"',
    "null",
    `{"a":"${"[{".repeat(200)}","b":[${"[],".repeat(200)}0]}`,
  ])("is what it says: %s", (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it.each([
    ["{"],
    ['{"a":1} x'],
    ['{"a":1}{"a":1}'],
    ["{'a':1}"],
    ['{"a":"'],
    ['{"a'],
    ['{"a":1,}'],
    ['{"a":NaN}'],
    ["\u0000"],
  ])("is refused with the parser's words: %j", (text) => {
    expect(problemOf(() => parseJson(text))).toMatchObject({
      code: "invalid_request",
      message: expect.stringMatching(/^the body is not JSON: ./),
    });
  });

  it("is refused if there is none", () => {
    expect(problemOf(() => parseJson("")).message).toBe(
      "the body is empty; it must be a JSON object",
    );
  });

  it.each([
    ['{"model":"a","model":"b"}', "model", "model"],
    ['{"model":"a","messages":[],"mod\\u0065l":"b"}', "model", "model"],
    ['{"messages":[{"role":"user"},{"role":"user","role" :"system"}]}', "role", "messages[1].role"],
    ['{"a":[[0,{"b":{"c":1,"d":2,"c":3}}]]}', "c", "a[0][1].b.c"],
    ['{"__proto__":1,"__proto__":2}', "__proto__", "__proto__"],
    ['{"1":0,"1":0}', "1", "1"],
    ['{"":0,"":0}', "", ""],
    [`{"a":"${"{".repeat(300)}","a":1}`, "a", "a"],
  ])("is refused if an object has a key twice, which it names: %s", (text, key, path) => {
    expect(problemOf(() => parseJson(text))).toEqual({
      code: "invalid_request",
      message: `the key "${key}" stands twice in one object`,
      param: path,
      problem: expect.any(String),
    });
  });

  it("is refused by its depth before it is parsed", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    const objects = `${'{"a":'.repeat(maxDepth + 1)}1${"}".repeat(maxDepth + 1)}`;

    expect(parseJson(nested(maxDepth))).toEqual(JSON.parse(nested(maxDepth)));
    for (const text of [nested(maxDepth + 1), nested(10_000), "[".repeat(8_000_000), objects]) {
      expect(problemOf(() => parseJson(text)).message).toBe("the body is nested deeper than 128");
    }
  });

  it("is refused if it holds too many objects and arrays, or keys", () => {
    const arrays = `[${"[],".repeat(maxContainers)}0]`;
    const keys = `{${Array.from({ length: maxContainers + 1 }, (_, at) => `"${at}":0`).join()}}`;

    expect(problemOf(() => parseJson(arrays)).message).toMatch(/more than 65536 objects/);
    expect(problemOf(() => parseJson(keys)).message).toMatch(/more than 65536 keys/);
  });
});

describe("the bytes of a body", () => {
  it("are UTF-8, with a byte order mark or without", () => {
    expect(parseJsonBytes(Buffer.from('{"a":"é€😀"}'))).toEqual({ a: "é€😀" });
    expect(parseJsonBytes(Buffer.from('\ufeff{"a":"\\ud800"}'))).toEqual({ a: "\ud800" });
    expect(parseJsonBytes(Buffer.from('{"a":1}'))).toEqual({ a: 1 });
  });

  it.each([
    ["a lone continuation", [0x22, 0x80, 0x22]],
    ["a cut sequence", [0x22, 0xe2, 0x82, 0x22]],
    ["an overlong one", [0x22, 0xc0, 0xaf, 0x22]],
    ["a surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["Latin-1", [0x22, 0xe9, 0x22]],
    ["UTF-16", [0xff, 0xfe, 0x7b, 0x00]],
  ])("are refused if they are not: %s", (_title, bytes) => {
    expect(problemOf(() => parseJsonBytes(Buffer.from(bytes)))).toMatchObject({
      code: "invalid_request",
      message: "the body is not UTF-8",
    });
  });
});
