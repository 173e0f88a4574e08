import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { endWithReader } from "../src/command-io.ts";

describe("endWithReader", () => {
  const failWith = (code: string): number[] => {
    const output = new EventEmitter();
    const exits: number[] = [];
    endWithReader(output as never, (status) => exits.push(status));
    output.emit("error", Object.assign(new Error(`write ${code}`), { code }));
    return exits;
  };

  it("ends in peace when the reader of the output has gone", () => {
    expect(failWith("EPIPE")).toEqual([0]);
  });

  it("hides no other failure of the output", () => {
    expect(() => failWith("ENOSPC")).toThrow("write ENOSPC");
  });
});
