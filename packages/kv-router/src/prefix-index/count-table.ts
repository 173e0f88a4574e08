import { mixWords } from "./hash-words.ts";

const segments = 256;
const firstCapacity = 8;
const words = 3;

/** Counts by pairs of whole numbers; a count of 0 takes no room. Grows in small parts, so that no growth takes long. */
export class CountTable {
  /** Per segment: first and second of the pair, and the count; 0 is an empty place. */
  readonly #places: Int32Array[] = new Array<Int32Array>(segments).fill(new Int32Array(words));
  readonly #fill = new Int32Array(segments);
  #size = 0;
  #bytes = 0;

  /** Pairs whose count is not 0. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(first: number, second: number): number {
    if (this.#size === 0) return 0;
    const mixed = mixWords(first, second);
    const places = this.#places[mixed & (segments - 1)]!;
    return places[placeOf(places, mixed, first, second) + 2]!;
  }

  /** Adds to a pair's count, which must not fall below 0. Returns the new one. */
  add(first: number, second: number, change: number): number {
    const mixed = mixWords(first, second);
    const segment = mixed & (segments - 1);
    let places = this.#places[segment]!;
    let place = placeOf(places, mixed, first, second);
    const before = places[place + 2]!;
    const count = before + change;
    if (count === before) return count;
    if (count < 0) throw new RangeError("a count below 0");
    if (before === 0) {
      places = this.#makeRoom(segment);
      place = placeOf(places, mixed, first, second);
      places[place] = first;
      places[place + 1] = second;
    }
    places[place + 2] = count;
    if (count === 0) this.#close(segment, place);
    return count;
  }

  #makeRoom(segment: number): Int32Array {
    const old = this.#places[segment]!;
    const capacity = old.length / words;
    const fill = this.#fill[segment]! + 1;
    this.#fill[segment] = fill;
    this.#size += 1;
    if (fill * 4 <= capacity * 3) return old;
    const grown = new Int32Array(Math.max(firstCapacity, capacity * 2) * words);
    this.#bytes += grown.byteLength - (capacity > 1 ? old.byteLength : 0);
    for (let at = 0; at < old.length; at += words) {
      if (old[at + 2] === 0) continue;
      const mixed = mixWords(old[at]!, old[at + 1]!);
      const place = placeOf(grown, mixed, old[at]!, old[at + 1]!);
      for (let word = 0; word < words; word += 1) grown[place + word] = old[at + word]!;
    }
    this.#places[segment] = grown;
    return grown;
  }

  /** Moves those after an empty place back into it. */
  #close(segment: number, place: number): void {
    const places = this.#places[segment]!;
    this.#fill[segment]! -= 1;
    this.#size -= 1;
    let gap = place;
    let next = place;
    for (;;) {
      next = next + words === places.length ? 0 : next + words;
      if (places[next + 2] === 0) return;
      const home = homeOf(places, mixWords(places[next]!, places[next + 1]!));
      const fromHome = next - home + (next < home ? places.length : 0);
      const fromGap = next - gap + (next < gap ? places.length : 0);
      if (fromHome < fromGap) continue;
      for (let word = 0; word < words; word += 1) places[gap + word] = places[next + word]!;
      places[next + 2] = 0;
      gap = next;
    }
  }
}

function homeOf(places: Int32Array, mixed: number): number {
  // Capacities are powers of two.
  return ((mixed >>> 8) & (places.length / words - 1)) * words;
}

/** Where the pair is, or the empty place where it would be. */
function placeOf(places: Int32Array, mixed: number, first: number, second: number): number {
  let place = homeOf(places, mixed);
  while (places[place + 2] !== 0) {
    if (places[place] === first && places[place + 1] === second) return place;
    place = place + words === places.length ? 0 : place + words;
  }
  return place;
}
