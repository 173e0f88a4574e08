import { describe, expect, it } from "vitest";
import { layOutTokens } from "../../src/artifact/token-list.ts";
import { TokenByteTable } from "../../src/bpe/token-byte-table.ts";

const texts = ["a", "b", "ab", "", "abc", "ab", "bc"];

function makeTable(): TokenByteTable {
  const { tokenBytes, tokenOffsets } = layOutTokens(
    texts.map((text) => Buffer.from(text)),
    texts.length,
  );
  const table = new TokenByteTable(tokenBytes, tokenOffsets);
  for (const id of texts.keys()) {
    table.insert(id);
  }
  return table;
}

describe("TokenByteTable", () => {
  it("finds a token by its bytes, of equal ones the first", () => {
    const table = makeTable();
    const source = Buffer.from("xabcx");
    expect(table.find(source, 1, 3)).toBe(2);
    expect(table.find(source, 1, 4)).toBe(4);
    expect(table.find(source, 0, 1)).toBe(-1);
    expect(table.find(source, 2, 2)).toBe(-1);
  });

  it("finds the token that two tokens make", () => {
    const table = makeTable();
    expect(table.findJoined(0, 1)).toBe(2);
    expect(table.findJoined(0, 6)).toBe(4);
    expect(table.findJoined(1, 0)).toBe(-1);
  });

  it("finds all of many", () => {
    const many = Array.from({ length: 5000 }, (_, id) => Buffer.from(`token-${id}`));
    const { tokenBytes, tokenOffsets } = layOutTokens(many, many.length);
    const table = new TokenByteTable(tokenBytes, tokenOffsets);
    for (const id of many.keys()) {
      table.insert(id);
    }
    expect(many.map((bytes) => table.find(bytes, 0, bytes.length))).toEqual([...many.keys()]);
  });
});
