import { classCount, classOf, decomposes } from "./combining-classes.ts";
import { textOfUnits } from "./text-units.ts";

/** Shorter runs are left to the engine. Marks are what the engine says, for it is the engine that would sort them. */
const longRuns = /\p{M}{33,}/gu;

const longestUnordered = 32;
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
  const places = new Uint32Array(classCount + 1);
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

/** The text of code points. */
export function textOfCodePoints(codePoints: Uint32Array): string {
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
