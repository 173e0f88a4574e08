import { textOfUnits } from "./text-units.ts";

/** Shorter runs are left to the engine. Marks are what the engine says, for it is the engine that would sort them. */
const longRuns = /\p{M}{33,}/gu;

/** One mark of each canonical combining class but zero, in the order of the classes. Unicode never changes a class. */
const marksOfClasses: readonly string[] = [
  0x334, 0x16ff0, 0x93c, 0x3099, 0x94d, 0x5b0, 0x5b1, 0x5b2, 0x5b3, 0x5b4, 0x5b5, 0x5b6, 0x5b7,
  0x5b8, 0x5b9, 0x5bb, 0x5bc, 0x5bd, 0x5bf, 0x5c1, 0x5c2, 0xfb1e, 0x64b, 0x64c, 0x64d, 0x64e, 0x64f,
  0x650, 0x651, 0x652, 0x670, 0x711, 0xc55, 0xc56, 0xe38, 0xe48, 0xeb8, 0xec8, 0xf71, 0xf72, 0xf74,
  0x321, 0x1dce, 0x31b, 0x1dfa, 0x316, 0x59a, 0x302e, 0x1d16d, 0x5ae, 0x300, 0x315, 0x35c, 0x35d,
  0x345,
].map((codePoint) => String.fromCodePoint(codePoint));

const unknown = 255;
const decomposes = 254;
const longestUnordered = 32;
/**
 * The class of each code point below U+20000, as a place in `marksOfClasses` from 1 on; 0 for starters, `decomposes` for
 * what has several. Filled when asked.
 */
const classes = new Uint8Array(0x20000).fill(unknown);

/**
 * Puts long runs of combining marks in canonical order, in linear time, which changes no normalization form: an engine sorts
 * a run by insertion, and a prompt of a hundred thousand marks would hold it for seconds.
 */
export function orderMarks(text: string): string {
  return text.replace(longRuns, orderRun);
}

function orderRun(run: string): string {
  const marks = decomposed(run);
  let isChanged = false;
  for (let from = 0; from < marks.length; ) {
    let to = from;
    while (to < marks.length && classOf(marks[to]!) !== 0) {
      to += 1;
    }
    if (to - from > longestUnordered) {
      orderByClass(marks.subarray(from, to));
      isChanged = true;
    }
    from = to + 1;
  }
  return isChanged ? textOfCodePoints(marks) : run;
}

/** The code points of a run, those of several marks taken apart. */
function decomposed(run: string): Uint32Array {
  // None takes apart to more than four.
  const marks = new Uint32Array(run.length * 4);
  let count = 0;
  for (let at = 0; at < run.length; ) {
    const codePoint = run.codePointAt(at)!;
    at += codePoint > 0xffff ? 2 : 1;
    if (classOf(codePoint) !== decomposes) {
      marks[count] = codePoint;
      count += 1;
      continue;
    }
    for (const part of String.fromCodePoint(codePoint).normalize("NFD")) {
      marks[count] = part.codePointAt(0)!;
      count += 1;
    }
  }
  return marks.subarray(0, count);
}

/** Sorts marks by class, those of one class as they came. */
function orderByClass(marks: Uint32Array): void {
  const places = new Uint32Array(marksOfClasses.length + 2);
  for (const mark of marks) {
    places[classOf(mark) + 1]! += 1;
  }
  for (let index = 1; index < places.length; index += 1) {
    places[index]! += places[index - 1]!;
  }
  for (const mark of marks.slice()) {
    const of = classOf(mark);
    marks[places[of]!] = mark;
    places[of]! += 1;
  }
}

function textOfCodePoints(codePoints: Uint32Array): string {
  const units = new Uint16Array(codePoints.length * 2);
  let length = 0;
  for (const codePoint of codePoints) {
    if (codePoint > 0xffff) {
      units[length] = 0xd7c0 + (codePoint >> 10);
      units[length + 1] = 0xdc00 | (codePoint & 0x3ff);
      length += 2;
    } else {
      units[length] = codePoint;
      length += 1;
    }
  }
  return textOfUnits(units, 0, length);
}

function classOf(codePoint: number): number {
  if (codePoint >= classes.length) {
    return 0;
  }
  const known = classes[codePoint]!;
  if (known !== unknown) {
    return known;
  }
  const mark = String.fromCodePoint(codePoint);
  const found = mark.normalize("NFD") === mark ? findClass(mark) : decomposes;
  classes[codePoint] = found;
  return found;
}

/** Asks the engine which of the known marks it would put before this one. */
function findClass(mark: string): number {
  const first = marksOfClasses[0]!;
  const last = marksOfClasses.at(-1)!;
  if (!isReordered(mark, first) && !isReordered(last, mark)) {
    return 0;
  }
  let low = 0;
  let high = marksOfClasses.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isReordered(mark, marksOfClasses[middle]!)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low + 1;
}

function isReordered(left: string, right: string): boolean {
  return (left + right).normalize("NFD") !== left.normalize("NFD") + right.normalize("NFD");
}
