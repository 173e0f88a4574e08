import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTokenizer } from "../../src/index.ts";
import { smallArtifact } from "../support/small-artifact.ts";
import { readDefaultArtifact } from "../support/tokenizer-json.ts";

const small = createTokenizer(smallArtifact());
const tokenizer = createTokenizer(readDefaultArtifact());

function byteIds(text: string): number[] {
  return [...Buffer.from(text)].map((byte) => byte + 3);
}

describe("a detokenizer", () => {
  it("gives, piece by piece, what a decoder of all bytes gives, for any ids", () => {
    const ids = fc.array(
      fc.oneof(fc.nat(tokenizer.vocabularySize + 5), fc.integer({ min: 0, max: 300 })),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(ids, (list) => {
        const detokenizer = tokenizer.detokenizer({ skipSpecial: false });
        let text = "";
        for (const id of list) {
          text += detokenizer.push(id);
          expect(detokenizer.heldBytes).toBeLessThanOrEqual(3);
        }
        text += detokenizer.flush();
        const bytes = Buffer.concat(list.map((id) => tokenizer.tokenBytes(id)));
        expect(text).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
      }),
    );
  });

  it("never shows a part of a character", () => {
    const detokenizer = small.detokenizer();
    expect(byteIds("é😀!").map((id) => detokenizer.push(id))).toEqual([
      "",
      "é",
      "",
      "",
      "",
      "😀",
      "!",
    ]);
    expect(detokenizer.flush()).toBe("");
  });

  it("gives the same text for several tokens at once", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(20), (text, cut) => {
        const ids = tokenizer.encode(text);
        const detokenizer = tokenizer.detokenizer({ skipSpecial: false });
        const pieces = [ids.subarray(0, cut), ids.subarray(cut)].map((part) =>
          detokenizer.pushAll(part),
        );
        expect(pieces.join("") + detokenizer.flush()).toBe(
          tokenizer.decode(ids, { skipSpecial: false }),
        );
      }),
    );
  });

  it("leaves special tokens out unless asked, without breaking a character around them", () => {
    const [first = 0, second = 0] = byteIds("é");
    expect(small.decode([0, first, 2, second, 1])).toBe("é");
    expect(small.decode([0, 259, 1], { skipSpecial: false })).toBe("<s>ab</s>");
  });

  it("replaces what never becomes a character", () => {
    const [first = 0] = byteIds("é");
    expect(small.decode([first, 259])).toBe("\ufffdab");
    expect(small.decode([259, first])).toBe("ab\ufffd");
    expect(small.decode([0x80 + 3, 0xff + 3])).toBe("\ufffd\ufffd");
  });

  it("starts afresh after a flush", () => {
    const detokenizer = small.detokenizer();
    detokenizer.push(0xf0 + 3);
    expect(detokenizer.flush()).toBe("\ufffd");
    expect(detokenizer.push(259)).toBe("ab");
  });

  it("ignores ids that do not exist", () => {
    expect(small.decode([-1, 100_000, 259, Number.NaN])).toBe("ab");
  });
});
