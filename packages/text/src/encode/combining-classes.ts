/** One mark of each canonical combining class but zero, in the order of the classes. Unicode never changes a class. */
const marksOfClasses: readonly string[] = [
  0x334, 0x16ff0, 0x93c, 0x3099, 0x94d, 0x5b0, 0x5b1, 0x5b2, 0x5b3, 0x5b4, 0x5b5, 0x5b6, 0x5b7,
  0x5b8, 0x5b9, 0x5bb, 0x5bc, 0x5bd, 0x5bf, 0x5c1, 0x5c2, 0xfb1e, 0x64b, 0x64c, 0x64d, 0x64e, 0x64f,
  0x650, 0x651, 0x652, 0x670, 0x711, 0xc55, 0xc56, 0xe38, 0xe48, 0xeb8, 0xec8, 0xf71, 0xf72, 0xf74,
  0x321, 0x1dce, 0x31b, 0x1dfa, 0x316, 0x59a, 0x302e, 0x1d16d, 0x5ae, 0x300, 0x315, 0x35c, 0x35d,
  0x345,
].map((codePoint) => String.fromCodePoint(codePoint));

const unknown = 255;
/** What `classOf` says of a code point that is several in decomposed text. */
export const decomposes = 254;
/** How many classes `classOf` tells apart, that of starters included. */
export const classCount: number = marksOfClasses.length + 1;
/**
 * The class of each code point below U+20000, as a place in `marksOfClasses` from 1 on; 0 for starters, `decomposes` for
 * what has several. Filled when asked.
 */
const classes = new Uint8Array(0x20000).fill(unknown);

/** The canonical combining class of a code point. */
export function classOf(codePoint: number): number {
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
