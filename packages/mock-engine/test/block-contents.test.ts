import { expect, it } from "vitest";
import { BlockContents } from "../src/block-contents.ts";
import { tokensFrom } from "./support/builders.ts";

it("tells equal token ids from others, wherever they lie", () => {
  const contents = new BlockContents(4);
  contents.write(300, tokensFrom(10, 8), 4);

  expect(contents.equals(300, tokensFrom(14, 4), 0)).toBe(true);
  expect(contents.equals(300, tokensFrom(12, 9), 2)).toBe(true);
  expect(contents.equals(300, tokensFrom(15, 4), 0)).toBe(false);
});

it("keeps blocks apart", () => {
  const contents = new BlockContents(2);
  contents.write(0, Uint32Array.of(1, 2), 0);
  contents.write(1, Uint32Array.of(3, 4), 0);

  expect(contents.equals(0, Uint32Array.of(1, 2), 0)).toBe(true);
  expect(contents.equals(1, Uint32Array.of(1, 2), 0)).toBe(false);
});

it("says of a block that was never written that it equals nothing", () => {
  expect(new BlockContents(1).equals(5, Uint32Array.of(0), 0)).toBe(false);
});
