import { describe, expect, it } from "vitest";
import {
  type AnyMessage,
  Dispatched,
  LegFailed,
  LoadReport,
  pack,
  Queued,
  RouteDecode,
  ServingError,
  TokenFrame,
  unpack,
} from "../src/index.ts";
import { samples } from "./samples.ts";

describe("a message whose word is none of the few that there are", () => {
  const places: readonly (readonly [AnyMessage, string])[] = [
    [Queued, "leg"],
    [Dispatched, "leg"],
    [LegFailed, "leg"],
    [RouteDecode, "pool"],
  ];

  it.each(["", "x", "__proto__", "Prefill", 1, null, ["prefill"]])(
    "is malformed with %j",
    (value) => {
      for (const [type, field] of places) {
        const index = type.layout?.indexOf(field) ?? -1;
        expect(index).toBeGreaterThan(0);
        expect(() => type.decode(withField(type, index, value))).toThrow(
          expect.objectContaining({ code: "malformed_message" }),
        );
      }
    },
  );
});

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
