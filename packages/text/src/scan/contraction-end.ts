const d = 0x64;
const e = 0x65;
const l = 0x6c;
const m = 0x6d;
const r = 0x72;
const s = 0x73;
const t = 0x74;
const v = 0x76;
const longS = 0x17f;

/** Which letters count as those of a contraction: lower case; both cases of ASCII; what Unicode folds to them, `ſ` too. */
export type ContractionCase = "lower" | "ascii" | "unicode";

/** The end of an English contraction (`'s 't 're 've 'm 'll 'd`) whose apostrophe stands at `at`; `at` if there is none. */
export function contractionEnd(
  units: Uint16Array,
  at: number,
  end: number,
  letterCase: ContractionCase,
): number {
  if (at + 1 >= end) {
    return at;
  }
  const first = fold(units[at + 1]!, letterCase);
  if (first === s || first === t || first === m || first === d) {
    return at + 2;
  }
  if (at + 2 >= end) {
    return at;
  }
  const second = fold(units[at + 2]!, letterCase);
  const isPair = (second === e && (first === r || first === v)) || (second === l && first === l);
  return isPair ? at + 3 : at;
}

function fold(unit: number, letterCase: ContractionCase): number {
  if (letterCase === "lower") {
    return unit;
  }
  if (unit === longS && letterCase === "unicode") {
    return s;
  }
  return unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
}
