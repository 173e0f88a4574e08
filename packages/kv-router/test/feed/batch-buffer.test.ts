import { describe, expect, it } from "vitest";
import { BatchBuffer } from "../../src/feed/batch-buffer.ts";

const events = new Uint8Array();
const add = (buffer: BatchBuffer, ...sequences: number[]) =>
  sequences.map((sequence) => buffer.add({ sequence, events }));
function drain(buffer: BatchBuffer): number[] {
  const sequences: number[] = [];
  for (let next = buffer.shift(); next !== undefined; next = buffer.shift()) {
    sequences.push(next.sequence);
  }
  return sequences;
}

describe("BatchBuffer", () => {
  it("gives batches out in order, whatever order they came in, each once", () => {
    const buffer = new BatchBuffer(10);

    expect(add(buffer, 5, 9, 7, 5, 6)).toEqual(["added", "added", "added", "repeated", "added"]);
    expect(drain(buffer)).toEqual([5, 6, 7, 9]);
  });

  it("lets the oldest go when it is full", () => {
    const buffer = new BatchBuffer(3);

    expect(add(buffer, 4, 5, 6, 7)).toEqual(["added", "added", "added", "overflowed"]);
    expect(buffer.size).toBe(3);
    expect(drain(buffer)).toEqual([5, 6, 7]);
  });

  it("drops all that is not later than a sequence", () => {
    const buffer = new BatchBuffer(10);
    add(buffer, 4, 6, 8);

    buffer.dropThrough(3);
    expect(buffer.first?.sequence).toBe(4);
    buffer.dropThrough(7);

    expect(drain(buffer)).toEqual([8]);
  });
});
