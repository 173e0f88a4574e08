import { describe, expect, it } from "vitest";
import { IdBuffer } from "../../src/bpe/id-buffer.ts";
import { hashWord, WordMemo } from "../../src/bpe/word-memo.ts";

function unitsOf(word: string): Uint16Array {
  return Uint16Array.from(word, (character) => character.charCodeAt(0));
}

function remember(memo: WordMemo, word: string, ids: readonly number[], hash?: number): void {
  const units = unitsOf(word);
  const out = new IdBuffer(16);
  for (const id of [999, ...ids]) {
    out.push(id);
  }
  memo.write(hash ?? hashWord(units, 0, units.length), units, 0, units.length, out, 1);
}

function recall(memo: WordMemo, word: string, hash?: number): number[] | undefined {
  const units = unitsOf(word);
  const out = new IdBuffer(16);
  const found = memo.read(hash ?? hashWord(units, 0, units.length), units, 0, units.length, out);
  return found ? [...out.toArray()] : undefined;
}

describe("WordMemo", () => {
  it("gives back the ids of a word, whatever their number", () => {
    const memo = new WordMemo();
    const words = ["a", "ab", "abc", "x".repeat(48)];
    for (const [index, word] of words.entries()) {
      remember(
        memo,
        word,
        Array.from({ length: index * 60 }, (_, at) => at + index),
      );
    }
    for (const [index, word] of words.entries()) {
      expect(recall(memo, word)).toEqual(Array.from({ length: index * 60 }, (_, at) => at + index));
    }
    expect(recall(memo, "abcd")).toBeUndefined();
  });

  it("tells words of the same hash apart", () => {
    const memo = new WordMemo();
    remember(memo, "first", [1], 77);
    remember(memo, "other", [2], 77);
    remember(memo, "fir", [3], 77);
    expect([recall(memo, "first", 77), recall(memo, "other", 77), recall(memo, "fir", 77)]).toEqual(
      [[1], [2], [3]],
    );
    expect(recall(memo, "third", 77)).toBeUndefined();
  });

  it("forgets the oldest words when full and keeps those in use", () => {
    const memo = new WordMemo();
    remember(memo, "kept", [1, 2]);
    remember(memo, "left", [3]);
    for (let index = 0; index < 250_000; index += 1) {
      remember(memo, `w${index}`, [index]);
      if (index % 10_000 === 0) {
        expect(recall(memo, "kept")).toEqual([1, 2]);
      }
    }
    expect(recall(memo, "left")).toBeUndefined();
    expect(recall(memo, "w249999")).toEqual([249_999]);
  });
});
