import { describe, expect, it } from "vitest";
import { describeKv } from "../../../src/engines/llama/descriptor.ts";
import type { StateShape } from "../../../src/engines/llama/state-layout.ts";

const shape: StateShape = {
  version: 3,
  layerCount: 2,
  rotWords: undefined,
  groups: [
    { type: 1, rowBytes: 64 },
    { type: 1, rowBytes: 64 },
    { type: 8, rowBytes: 34 },
    { type: 8, rowBytes: 68 },
  ],
};
const facts = { build: "b", modelSha256: "abc", blockSize: 16, shape };

describe("describeKv", () => {
  it("names everything that two sides must agree on", () => {
    expect(describeKv(facts)).toEqual({
      engine: "llama",
      build: "b",
      stateVersion: 3,
      model: "abc",
      adapters: "",
      keyType: 1,
      valueType: 8,
      layers: 2,
      keyRowBytes: 64,
      valueRowBytes: "34,68",
      transposedValues: 0,
      rotWords: "",
      blockSize: 16,
    });
  });

  it("keeps the words of newer builds", () => {
    const described = describeKv({ ...facts, shape: { ...shape, rotWords: [64, 0] } });
    expect(described.rotWords).toBe("64,0");
  });
});
