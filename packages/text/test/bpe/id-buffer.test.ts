import { describe, expect, it } from "vitest";
import { IdBuffer } from "../../src/bpe/id-buffer.ts";

describe("IdBuffer", () => {
  it("grows and keeps its ids", () => {
    const buffer = new IdBuffer(0);
    const ids = Array.from({ length: 1000 }, (_, index) => index * 7);
    for (const id of ids) {
      buffer.push(id);
    }
    expect([...buffer.toArray()]).toEqual(ids);
  });

  it("hands out a copy", () => {
    const buffer = new IdBuffer(4);
    buffer.push(1);
    const copy = buffer.toArray();
    buffer.ids[0] = 2;
    expect([...copy]).toEqual([1]);
  });
});
