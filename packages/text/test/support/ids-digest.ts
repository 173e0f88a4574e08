import { createHash } from "node:crypto";

/** Texts of one digest: which of them is wrong is quickly found. */
const batchTexts = 100;

/** One digest for every hundred texts, of all their ids in order. */
export async function digestsOf(
  texts: readonly string[],
  encode: (text: string) => Iterable<number> | Promise<Iterable<number>>,
): Promise<readonly string[]> {
  const digests: string[] = [];
  for (let at = 0; at < texts.length; at += batchTexts) {
    const hash = createHash("sha256");
    for (const text of texts.slice(at, at + batchTexts)) {
      hash.update(`${[...(await encode(text))].join()}\n`);
    }
    digests.push(hash.digest("hex").slice(0, 16));
  }
  return digests;
}
