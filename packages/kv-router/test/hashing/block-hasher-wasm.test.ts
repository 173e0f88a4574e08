import { expect, it } from "vitest";
import { compileBlockHasher } from "../../scripts/compile-block-hasher.ts";
import { blockHasherWasm } from "../../src/index.ts";

it("carries the bytes that its sources compile to", async () => {
  expect(Buffer.from(blockHasherWasm())).toEqual(Buffer.from(await compileBlockHasher()));
}, 30_000);
