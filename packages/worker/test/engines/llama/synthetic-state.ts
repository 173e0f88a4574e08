/** Writes state files straight from the layout's table, independently of the code under test. */

export interface SyntheticState {
  readonly tokens: readonly number[];
  readonly streamCount: number;
  readonly streamIndex: number;
  readonly layerCount: number;
  readonly keyRowBytes: number;
  readonly valueRowBytes: number;
  readonly rotWords?: readonly [number, number];
}

export const smallState: SyntheticState = {
  tokens: Array.from({ length: 37 }, (_, index) => 100 + index),
  streamCount: 3,
  streamIndex: 1,
  layerCount: 2,
  keyRowBytes: 12,
  valueRowBytes: 8,
};

/** Byte `b` of row `token` of group `group`: any mix-up of rows shows. */
export function rowByte(group: number, token: number, b: number): number {
  return (group * 89 + token * 31 + b * 7) & 0xff;
}

export function writeSyntheticState(state: SyntheticState): Uint8Array {
  const count = state.tokens.length;
  const rowBytes = state.layerCount * (state.keyRowBytes + state.valueRowBytes);
  const rotBytes = state.rotWords === undefined ? 0 : 8;
  const headers = 24 + 16 * count + 24 * state.layerCount + rotBytes;
  const bytes = new Uint8Array(headers + count * rowBytes + 4 * state.streamCount);
  const view = new DataView(bytes.buffer);
  let at = 0;
  const u32 = (value: number): void => {
    view.setUint32(at, value, true);
    at += 4;
  };
  u32(0x67677371);
  u32(3);
  u32(count);
  for (const token of state.tokens) u32(token);
  u32(state.streamCount);
  for (let stream = 0; stream < state.streamCount; stream++) {
    if (stream !== state.streamIndex) {
      u32(0);
      continue;
    }
    u32(count);
    for (let position = 0; position < count; position++) {
      u32(position);
      u32(1);
      u32(state.streamIndex);
    }
    u32(0);
    u32(state.layerCount);
    for (const word of state.rotWords ?? []) u32(word);
    for (let group = 0; group < 2 * state.layerCount; group++) {
      const groupBytes = group < state.layerCount ? state.keyRowBytes : state.valueRowBytes;
      u32(1);
      u32(groupBytes);
      u32(0);
      for (let token = 0; token < count; token++) {
        for (let b = 0; b < groupBytes; b++) bytes[at++] = rowByte(group, token, b);
      }
    }
  }
  return bytes;
}
