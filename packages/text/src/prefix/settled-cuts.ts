// Hot: about once per 1,024 characters of a prompt. Bench: bench/tokenizer.bench.ts.

import type { TokenizerArtifact } from "../artifact/tokenizer-artifact.ts";
import { characterFlags, letterFlag } from "../unicode/character-flags.ts";

/**
 * What may follow a letter and then always begins a new word: no family has a word that goes on with one of these after a
 * letter, and none of them combines with what stands before it.
 */
const possibleFollowers = " \n,.;:!?()，。、；：！？";

/** Letters that normalization form C leaves as they are, or makes other letters of. */
const stableLetters: readonly (readonly [first: number, last: number])[] = [
  [0x41, 0x2ff],
  [0x391, 0x3c9],
  [0x400, 0x52f],
  [0x5d0, 0x5ea],
  [0x620, 0x64a],
  [0xe01, 0xe30],
  [0x3041, 0x30ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
];

const letter = 1;
const follower = 2;

/**
 * Where a text may be cut so that its two parts, tokenized apart, give the ids of the whole, whatever follows.
 *
 * A cut at `p` is settled when the character before it is a letter and the one at it is white space or punctuation that
 * follows a letter in no added token: a word ends there in every family, none looks behind where it begins, and neither an
 * added token nor a composition can reach across.
 */
export class SettledCuts {
  /** `letter` and `follower` for each UTF-16 unit. */
  private readonly kinds: Uint8Array;

  constructor(kinds: Uint8Array) {
    this.kinds = kinds;
  }

  /** The last settled cut `p` with `from < p < to`; -1 if there is none. */
  last(units: Uint16Array, from: number, to: number): number {
    const kinds = this.kinds;
    for (let at = to - 1; at > from; at -= 1) {
      if ((kinds[units[at]!]! & follower) !== 0 && (kinds[units[at - 1]!]! & letter) !== 0) {
        return at;
      }
    }
    return -1;
  }
}

/** The settled cuts of a tokenizer; undefined if its words are cut by rules of which nothing is known, or if it has none. */
export function settledCutsOf(artifact: TokenizerArtifact): SettledCuts | undefined {
  if (artifact.preTokenizer.kind !== "family") {
    return undefined;
  }
  const followers = followersOutside(artifact);
  if (followers.length === 0) {
    return undefined;
  }
  const kinds = new Uint8Array(0x10000);
  markLetters(kinds, artifact.normalizer === "nfc");
  for (const character of followers) {
    kinds[character.charCodeAt(0)] = follower;
  }
  return new SettledCuts(kinds);
}

/** The followers that stand behind a letter in no added token, as it is written and as it is normalized. */
function followersOutside({ addedTokens }: TokenizerArtifact): readonly string[] {
  const flags = characterFlags();
  const taken = new Set<string>();
  for (const { content } of addedTokens) {
    for (const text of [content, content.normalize("NFC")]) {
      for (let at = 1; at < text.length; at += 1) {
        const before = text.codePointAt(at - 1) ?? 0;
        if ((flags[before]! & letterFlag) !== 0) {
          taken.add(text.charAt(at));
        }
      }
    }
  }
  return [...possibleFollowers].filter((character) => !taken.has(character));
}

function markLetters(kinds: Uint8Array, normalize: boolean): void {
  const flags = characterFlags();
  const ranges = normalize ? stableLetters : [[0, 0xffff] as const];
  for (const [first, last] of ranges) {
    for (let unit = first; unit <= last; unit += 1) {
      kinds[unit] = (flags[unit]! & letterFlag) === 0 ? 0 : letter;
    }
  }
}
