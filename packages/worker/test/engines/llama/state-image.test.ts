import { describe, expect, it } from "vitest";
import { StateImage } from "../../../src/engines/llama/state-image.ts";
import { parseStateBytes } from "../../../src/engines/llama/state-layout.ts";
import { smallState, writeSyntheticState } from "./synthetic-state.ts";

describe("StateImage", () => {
  it("has the length that the layout's formula gives, with the words of newer builds", () => {
    const rotWords = [64, 7] as const;
    const state = { ...smallState, tokens: [1, 2, 3], rotWords };
    const { shape, tokens } = parseStateBytes(writeSyntheticState(state));
    const piece = { firstToken: 0, tokenCount: 3, bytes: new Uint8Array(3 * 40) };
    const image = new StateImage(shape, 16, tokens, [piece], 5);
    expect(image.fileBytes).toBe(24 + 16 * 3 + 24 * 2 + 3 * 40 + 4 * 5 + 8);
    const bytes = new Uint8Array(image.fileBytes);
    image.fill(0, bytes);
    const parsed = parseStateBytes(bytes);
    expect(parsed.shape.rotWords).toEqual([64, 7]);
    expect([...parsed.tokens]).toEqual([1, 2, 3]);
    expect(parsed.streamCount).toBe(5);
  });
});
