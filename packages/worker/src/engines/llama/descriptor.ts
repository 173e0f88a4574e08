/** What this engine's KV bytes are, field by field; travels in tickets and must be equal on both sides. */

import type { RowGroup, StateShape } from "./state-layout.ts";

export interface DescriptorFacts {
  /** Repository and release of llama.cpp. */
  readonly build: string;
  /** Hex SHA-256 of the GGUF. */
  readonly modelSha256: string;
  readonly blockSize: number;
  readonly shape: StateShape;
}

/** The descriptor, in the form of the ticket's field. */
export function describeKv(facts: DescriptorFacts): Readonly<Record<string, string | number>> {
  const { shape } = facts;
  const keys = shape.groups.slice(0, shape.layerCount);
  const values = shape.groups.slice(shape.layerCount);
  return {
    engine: "llama",
    build: facts.build,
    stateVersion: shape.version,
    model: facts.modelSha256,
    adapters: "",
    keyType: perLayer(keys, (group) => group.type),
    valueType: perLayer(values, (group) => group.type),
    layers: shape.layerCount,
    keyRowBytes: perLayer(keys, (group) => group.rowBytes),
    valueRowBytes: perLayer(values, (group) => group.rowBytes),
    transposedValues: 0,
    rotWords: shape.rotWords?.join(",") ?? "",
    blockSize: facts.blockSize,
  };
}

/** One number if all layers agree, else all of them. */
function perLayer(groups: readonly RowGroup[], read: (group: RowGroup) => number): string | number {
  const numbers = groups.map(read);
  const [first = 0] = numbers;
  return numbers.every((number) => number === first) ? first : numbers.join(",");
}
