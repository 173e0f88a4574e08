import { crc32 } from "node:zlib";
import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { frameKind, tailPart } from "../../src/tcp/frame.ts";
import { PullAssembly } from "../../src/tcp/pull-assembly.ts";
import { createDesk, sourceOf, stageOn } from "../support.ts";

const ticket = stageOn(createDesk(new VirtualClock()), "h:1", sourceOf([1]), 6);
const u32 = (...numbers: number[]) => Buffer.from(Uint32Array.from(numbers).buffer);

describe("PullAssembly", () => {
  it("joins the chunks of a part and hands it over with its sum", () => {
    const got: unknown[] = [];
    const assembly = new PullAssembly({
      ticket,
      parts: [4, "tail"],
      onPart: (part, bytes) => void got.push([part, [...bytes]]),
    });

    assembly.take(frameKind.part, u32(4, 3));
    assembly.take(frameKind.chunk, Buffer.of(1, 2));
    assembly.take(frameKind.chunk, Buffer.of(3));
    assembly.take(frameKind.sum, u32(crc32(Buffer.of(1, 2, 3))));
    assembly.take(frameKind.part, u32(tailPart, 0));
    assembly.take(frameKind.sum, u32(0));

    expect(got).toEqual([
      [4, [1, 2, 3]],
      ["tail", []],
    ]);
    expect(assembly.take(frameKind.done, Buffer.alloc(0))).toEqual({ done: true, wait: null });
  });

  it("counts all parts against the ticket's bytes", () => {
    const assembly = new PullAssembly({ ticket, parts: [0, 1], onPart: () => {} });
    assembly.take(frameKind.part, u32(0, 4));
    assembly.take(frameKind.chunk, Buffer.of(1, 2, 3, 4));
    assembly.take(frameKind.sum, u32(crc32(Buffer.of(1, 2, 3, 4))));

    expect(() => assembly.take(frameKind.part, u32(1, 3))).toThrow(
      expect.objectContaining({ code: "kv_transfer_failed" }),
    );
  });

  it("tells of a part that ends before its bytes are here", () => {
    const assembly = new PullAssembly({ ticket, parts: [0], onPart: () => {} });
    assembly.take(frameKind.part, u32(0, 4));

    expect(() => assembly.take(frameKind.sum, u32(0))).toThrow(
      expect.objectContaining({ code: "kv_transfer_failed" }),
    );
  });
});
