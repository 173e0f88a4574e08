/** Encodes GGUF version 3 files: metadata of the types that a small Llama model needs, and tensors. */

export type GgufValue =
  | { readonly type: "u32" | "f32"; readonly value: number }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "strings"; readonly value: readonly string[] }
  | { readonly type: "i32s"; readonly value: readonly number[] };

export interface GgufTensor {
  readonly name: string;
  /** The fastest dimension first. */
  readonly shape: readonly number[];
  readonly values: Float32Array;
  readonly type: "f32" | "f16";
}

const alignment = 32;
const valueTypes = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 };
const tensorTypes = { f32: 0, f16: 1 };

/** Encodes the file. Tensors keep their order; each begins at a multiple of 32 bytes. */
export function encodeGguf(
  metadata: ReadonlyMap<string, GgufValue>,
  tensors: readonly GgufTensor[],
): Uint8Array {
  const parts = new ByteParts();
  parts.text("GGUF").u32(3).u64(tensors.length).u64(metadata.size);
  for (const [key, value] of metadata) {
    parts.string(key);
    encodeValue(parts, value);
  }
  const bodies = tensors.map(encodeTensor);
  let offset = 0;
  for (const [index, tensor] of tensors.entries()) {
    parts.string(tensor.name).u32(tensor.shape.length);
    for (const size of tensor.shape) parts.u64(size);
    parts.u32(tensorTypes[tensor.type]).u64(offset);
    offset += padded(bodies[index]?.length ?? 0);
  }
  parts.pad();
  for (const body of bodies) parts.bytes(body).pad();
  return parts.join();
}

function encodeValue(parts: ByteParts, value: GgufValue): void {
  switch (value.type) {
    case "u32":
      parts.u32(valueTypes.u32).u32(value.value);
      return;
    case "f32":
      parts.u32(valueTypes.f32).f32(value.value);
      return;
    case "bool":
      parts.u32(valueTypes.bool).bytes(Uint8Array.of(value.value ? 1 : 0));
      return;
    case "string":
      parts.u32(valueTypes.string).string(value.value);
      return;
    case "strings":
      parts.u32(valueTypes.array).u32(valueTypes.string).u64(value.value.length);
      for (const item of value.value) parts.string(item);
      return;
    case "i32s":
      parts.u32(valueTypes.array).u32(valueTypes.i32).u64(value.value.length);
      for (const item of value.value) parts.u32(item >>> 0);
      return;
  }
}

function encodeTensor(tensor: GgufTensor): Uint8Array {
  const count = tensor.shape.reduce((product, size) => product * size, 1);
  if (count !== tensor.values.length) throw new RangeError(`${tensor.name} has a wrong size`);
  const width = tensor.type === "f32" ? 4 : 2;
  const bytes = new Uint8Array(count * width);
  const view = new DataView(bytes.buffer);
  for (const [index, value] of tensor.values.entries()) {
    if (width === 4) view.setFloat32(4 * index, value, true);
    else view.setUint16(2 * index, toHalf(value), true);
  }
  return bytes;
}

const floatBits = new DataView(new ArrayBuffer(4));

/** The nearest half float, ties away from zero; values below the normal range become zero. */
function toHalf(value: number): number {
  floatBits.setFloat32(0, value, true);
  const bits = floatBits.getUint32(0, true) + 0x1000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  const sign = (bits >>> 16) & 0x8000;
  if (exponent <= 0) return sign;
  if (exponent >= 31) throw new RangeError(`${value} is no half float`);
  return sign | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}

function padded(length: number): number {
  return Math.ceil(length / alignment) * alignment;
}

/** Byte chunks that are joined once. */
class ByteParts {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  bytes(chunk: Uint8Array): this {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    return this;
  }

  text(value: string): this {
    return this.bytes(new TextEncoder().encode(value));
  }

  string(value: string): this {
    const bytes = new TextEncoder().encode(value);
    return this.u64(bytes.length).bytes(bytes);
  }

  u32(value: number): this {
    return this.#number(4, (view) => view.setUint32(0, value, true));
  }

  f32(value: number): this {
    return this.#number(4, (view) => view.setFloat32(0, value, true));
  }

  u64(value: number): this {
    return this.#number(8, (view) => view.setBigUint64(0, BigInt(value), true));
  }

  pad(): this {
    return this.bytes(new Uint8Array(padded(this.#length) - this.#length));
  }

  join(): Uint8Array {
    const all = new Uint8Array(this.#length);
    let position = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, position);
      position += chunk.length;
    }
    return all;
  }

  #number(length: number, write: (view: DataView) => void): this {
    const bytes = new Uint8Array(length);
    write(new DataView(bytes.buffer));
    return this.bytes(bytes);
  }
}
