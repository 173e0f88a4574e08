import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeFrame, FrameReader } from "../../src/tcp/frame.ts";

describe("FrameReader", () => {
  it("reads the frames that were written, however the stream is cut and held", () => {
    const frames = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 60 })),
    );
    fc.assert(
      fc.property(frames, fc.array(fc.nat(40)), fc.nat(3), (written, cuts, holdEvery) => {
        const stream = Buffer.concat(written.map(([kind, body]) => encodeFrame(kind, body)));
        const read: [number, Uint8Array][] = [];
        const reader: FrameReader = new FrameReader((kind, body) => {
          read.push([kind, new Uint8Array(body)]);
          if (holdEvery > 0 && read.length % holdEvery === 0) reader.hold();
        });
        let at = 0;
        for (const cut of [...cuts, stream.length]) {
          reader.push(stream.subarray(at, at + cut));
          at = Math.min(stream.length, at + cut);
          for (let i = 0; i < written.length; i++) reader.resume();
        }

        expect(read).toEqual(written.map(([kind, body]) => [kind, new Uint8Array(body)]));
        expect(reader.midFrame).toBe(false);
      }),
    );
  });

  it("refuses a frame over its limit before it arrives", () => {
    const reader = new FrameReader(() => {});

    expect(() => reader.push(Buffer.from([1, 0, 0x10, 0, 4]))).toThrow(
      expect.objectContaining({ code: "kv_transfer_failed" }),
    );
  });
});
