import { describe, expect, it } from "vitest";
import {
  type AnyMessage,
  LoadReport,
  pack,
  ServingError,
  TokenFrame,
  unpack,
} from "../src/index.ts";
import { samples } from "./samples.ts";

describe("a message whose counts are none", () => {
  const nonsense = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e308, 2 ** 53, "1", null];

  it.each(nonsense)("is malformed with %s for the number of a load report", (value) => {
    expect(() => LoadReport.decode(withField(LoadReport, 2, value))).toThrow(ServingError);
  });

  it.each(nonsense)(
    "is malformed with %s for the number or generation of a token frame",
    (value) => {
      for (const field of [1, 2, 3]) {
        expect(() => TokenFrame.decode(withField(TokenFrame, field, value))).toThrow(ServingError);
      }
    },
  );

  it.each(nonsense)("is malformed with %s in an entry of a token frame", (value) => {
    for (const entry of [
      [value, 0, 0, [1]],
      [1, value, 0, [1]],
      [1, 0, value, [1]],
      [1, 0, 0, [value]],
      value,
    ]) {
      expect(() => TokenFrame.decode(withField(TokenFrame, 4, [entry]))).toThrow(ServingError);
    }
  });
});

function withField(type: AnyMessage, index: number, value: unknown): Uint8Array {
  const sample = samples.find((one) => one.type.name === type.name);
  if (sample === undefined) throw new Error(`no sample of ${type.name}`);
  const fields = unpack(sample.type.encode(sample.value)) as unknown[];
  fields[index] = value;
  return pack(fields);
}
