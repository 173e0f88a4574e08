import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { unfold } from "../../src/http/content-coding.ts";

const fold = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

describe.each(["gzip", "deflate", "br"] as const)("%s", (coding) => {
  it("is unfolded up to the limit and no further", async () => {
    const text = Buffer.alloc(200_000, "ab");
    const folded = fold[coding](text);

    expect((await unfold(coding, folded, 200_000)).equals(text)).toBe(true);
    await expect(unfold(coding, folded, 199_999)).rejects.toMatchObject({
      code: "payload_too_large",
    });
  });

  it("is refused if it is cut or something else", async () => {
    const folded = fold[coding]("some text that is folded");
    const refused = { code: "invalid_request", message: expect.stringContaining(coding) };

    await expect(unfold(coding, folded.subarray(0, -2), 1_000)).rejects.toMatchObject(refused);
    await expect(unfold(coding, Buffer.from("plain"), 1_000)).rejects.toMatchObject(refused);
    await expect(unfold(coding, Buffer.alloc(0), 1_000)).rejects.toMatchObject(refused);
  });
});
