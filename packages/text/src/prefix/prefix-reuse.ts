// Hot: a few calls per 1,024 characters of a prompt. Bench: bench/tokenizer.bench.ts.

import type { IdBuffer } from "../bpe/id-buffer.ts";
import type { PrefixNode, PrefixTrie } from "./prefix-trie.ts";
import type { SettledCuts } from "./settled-cuts.ts";

/** Pieces followed, or passed over for want of a cut, in one call. */
const piecesPerCall = 256;
const noIds = new Uint32Array();

/** The tokenizer's prefixes, and where they may end. */
export interface KnownPrefixes {
  readonly trie: PrefixTrie;
  readonly cuts: SettledCuts;
}

/**
 * What one text shares with those before it, and what it leaves for those after it.
 *
 * First `walk` until it returns true. Then, for each stop that `plan` finds: encode up to it, and `record`.
 */
export class PrefixReuse {
  /** Up to where the text's ids are known, in UTF-16 units. */
  cut = 0;
  /** Where to stop encoding next: a settled cut, or the end of the text. In UTF-16 units. */
  stop = 0;
  private readonly trie: PrefixTrie;
  private readonly cuts: SettledCuts;
  private readonly text: string;
  private node: PrefixNode | undefined;
  /** Where the piece below the node begins. */
  private pieceAt = 0;
  /** Where the piece begins whose cut is the stop; those before it that have none are added only when one is found. */
  private plannedAt = 0;
  /** How many ids the text up to the cut has. */
  private idsAtCut = 0;

  constructor({ trie, cuts }: KnownPrefixes, text: string) {
    this.trie = trie;
    this.cuts = cuts;
    this.text = text;
    this.node = trie.root;
  }

  /** Follows the text through what is known, and appends the ids. True when it is known no further. */
  walk(out: IdBuffer): boolean {
    const { trie } = this;
    for (let left = piecesPerCall; left > 0; left -= 1) {
      const child = this.hasPiece() ? this.childOfNode() : undefined;
      if (child === undefined) {
        this.idsAtCut = out.length;
        this.touch();
        return true;
      }
      out.pushAll(child.ids);
      this.node = child;
      this.cut = child.cut;
      this.pieceAt += trie.pieceUnits;
    }
    return false;
  }

  /** Finds the next stop. `units` are those of the text from `base` on. False to be called again. */
  plan(units: Uint16Array, base: number): boolean {
    const { pieceUnits } = this.trie;
    this.plannedAt = Math.max(this.plannedAt, this.pieceAt);
    for (let left = piecesPerCall; left > 0; left -= 1, this.plannedAt += pieceUnits) {
      const pieceEnd = this.plannedAt + pieceUnits;
      if (this.node === undefined || pieceEnd > this.text.length) {
        this.stop = this.text.length;
        return true;
      }
      // What stands before the piece was searched with the pieces before.
      const from = Math.max(this.cut, this.plannedAt - 1);
      const found = this.cuts.last(units, from - base, pieceEnd - base);
      if (found >= 0) {
        this.stop = found + base;
        return true;
      }
    }
    return false;
  }

  /** Keeps the ids up to the stop, which `out` ends with, for texts to come. At the end of the text nothing is kept. */
  record(out: IdBuffer): void {
    if (this.stop === this.text.length) {
      return;
    }
    while (this.node !== undefined && this.pieceAt < this.plannedAt) {
      this.extend(this.cut, noIds);
    }
    this.extend(this.stop, out.ids.slice(this.idsAtCut, out.length));
    this.cut = this.stop;
    this.idsAtCut = out.length;
  }

  private hasPiece(): boolean {
    return this.pieceAt + this.trie.pieceUnits <= this.text.length;
  }

  private childOfNode(): PrefixNode | undefined {
    return this.node === undefined
      ? undefined
      : this.trie.child(this.node, this.text, this.pieceAt);
  }

  private touch(): void {
    if (this.node !== undefined) {
      this.trie.touch(this.node);
    }
  }

  private extend(cut: number, ids: Uint32Array): void {
    if (this.node !== undefined) {
      this.node = this.trie.extend(this.node, this.text, this.pieceAt, cut, ids);
      this.pieceAt += this.trie.pieceUnits;
    }
  }
}
