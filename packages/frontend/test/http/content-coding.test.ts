import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Unfolder, unfold } from "../../src/http/content-coding.ts";

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

describe("many at once", () => {
  const folded = gzipSync("text");
  const unfoldAll = async (unfolder: Unfolder, wanted: readonly boolean[]) => {
    let most = 0;
    let asked = 0;
    const all = wanted.map((isWanted) =>
      unfolder
        .unfold("gzip", folded, 100, () => {
          asked += 1;
          most = Math.max(most, asked);
          return isWanted;
        })
        .then((bytes) => {
          asked -= 1;
          return bytes?.toString() ?? null;
        }),
    );
    return { texts: await Promise.all(all), most };
  };

  it("are unfolded a few at a time, all of them, and not those that nobody wants any more", async () => {
    const unfolder = new Unfolder();
    const wanted = Array.from({ length: 40 }, (_, at) => at % 5 !== 4);

    for (let round = 0; round < 2; round += 1) {
      const { texts, most } = await unfoldAll(unfolder, wanted);
      expect(texts).toEqual(wanted.map((isWanted) => (isWanted ? "text" : null)));
      expect(most).toBeLessThanOrEqual(5);
    }
  });

  it("do not hold up the others when one cannot be unfolded", async () => {
    const unfolder = new Unfolder();
    const bad = Array.from({ length: 9 }, () =>
      unfolder.unfold("gzip", Buffer.from("plain"), 100, () => true),
    );
    await Promise.allSettled(bad);

    expect((await unfolder.unfold("gzip", folded, 100, () => true))?.toString()).toBe("text");
  });
});
