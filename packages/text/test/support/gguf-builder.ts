/** A value of a GGUF file under test, with its type. */
export type GgufInput =
  | {
      readonly type: "u32" | "u64" | "i32" | "f32" | "f64" | "u8" | "i8" | "u16" | "i16" | "i64";
      readonly value: number;
    }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "strings"; readonly value: readonly string[] }
  | { readonly type: "i32s"; readonly value: readonly number[] };

const types = [
  "u8",
  "i8",
  "u16",
  "i16",
  "u32",
  "i32",
  "f32",
  "bool",
  "string",
  "array",
  "u64",
  "i64",
  "f64",
];

/** The first bytes of a GGUF file with this metadata. */
export function buildGguf(values: Readonly<Record<string, GgufInput>>, version = 3): Uint8Array {
  const entries = Object.entries(values);
  return Buffer.concat([
    Buffer.from("GGUF"),
    scalar("u32", version),
    scalar("u64", 0),
    scalar("u64", entries.length),
    ...entries.flatMap(([key, input]) => [text(key), ...typed(input)]),
  ]);
}

function typed(input: GgufInput): Buffer[] {
  const type = (name: string) => scalar("u32", types.indexOf(name));
  switch (input.type) {
    case "string":
      return [type("string"), text(input.value)];
    case "strings":
      return [
        type("array"),
        type("string"),
        scalar("u64", input.value.length),
        ...input.value.map(text),
      ];
    case "i32s":
      return [
        type("array"),
        type("i32"),
        scalar("u64", input.value.length),
        ...input.value.map((value) => scalar("i32", value)),
      ];
    case "bool":
      return [type("bool"), Buffer.of(input.value ? 1 : 0)];
    default:
      return [type(input.type), scalar(input.type, input.value)];
  }
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([scalar("u64", bytes.length), bytes]);
}

function scalar(type: string, value: number): Buffer {
  const buffer = Buffer.alloc(8);
  switch (type) {
    case "u8":
      return buffer.subarray(0, buffer.writeUInt8(value));
    case "i8":
      return buffer.subarray(0, buffer.writeInt8(value));
    case "u16":
      return buffer.subarray(0, buffer.writeUInt16LE(value));
    case "i16":
      return buffer.subarray(0, buffer.writeInt16LE(value));
    case "u32":
      return buffer.subarray(0, buffer.writeUInt32LE(value));
    case "i32":
      return buffer.subarray(0, buffer.writeInt32LE(value));
    case "f32":
      return buffer.subarray(0, buffer.writeFloatLE(value));
    case "f64":
      return buffer.subarray(0, buffer.writeDoubleLE(value));
    case "i64":
      return buffer.subarray(0, buffer.writeBigInt64LE(BigInt(value)));
    default:
      return buffer.subarray(0, buffer.writeBigUInt64LE(BigInt(value)));
  }
}
