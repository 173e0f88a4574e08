/** A place in a text where an added token stands. */
export interface AddedTokenMatch {
  at: number;
  end: number;
  id: number;
}

interface TrieNode {
  /** The token that ends here, -1 if none does. */
  id: number;
  readonly next: Map<number, TrieNode>;
}

/** Finds added tokens in UTF-16 text: the leftmost one, and of several that begin there the longest. */
export class AddedTokenMatcher {
  /** The last match that `find` made. */
  readonly match: AddedTokenMatch = { at: 0, end: 0, id: -1 };
  private readonly root: TrieNode = { id: -1, next: new Map() };
  /** 1 for every unit that begins a token; undefined if there are no tokens. */
  private readonly firsts: Uint8Array | undefined;

  constructor(tokens: Iterable<{ readonly content: string; readonly id: number }>) {
    for (const token of tokens) {
      this.insert(token.content, token.id);
    }
    if (this.root.next.size > 0) {
      this.firsts = new Uint8Array(0x10000);
      for (const unit of this.root.next.keys()) {
        this.firsts[unit] = 1;
      }
    }
  }

  /**
   * Finds the first token of `units[from, end)` that begins before `to`, and puts it into `match`. False if there is
   * none.
   */
  find(units: Uint16Array, from: number, to: number, end: number): boolean {
    const firsts = this.firsts;
    if (firsts === undefined) {
      return false;
    }
    for (let at = from; at < to; at += 1) {
      if (firsts[units[at]!] === 1 && this.matchAt(units, at, end)) {
        return true;
      }
    }
    return false;
  }

  private insert(content: string, id: number): void {
    let node = this.root;
    for (let at = 0; at < content.length; at += 1) {
      const unit = content.charCodeAt(at);
      let child = node.next.get(unit);
      if (child === undefined) {
        child = { id: -1, next: new Map() };
        node.next.set(unit, child);
      }
      node = child;
    }
    if (node !== this.root) {
      node.id = id;
    }
  }

  private matchAt(units: Uint16Array, from: number, end: number): boolean {
    let node: TrieNode | undefined = this.root;
    let found = false;
    for (let at = from; at < end; at += 1) {
      node = node.next.get(units[at]!);
      if (node === undefined) {
        break;
      }
      if (node.id >= 0) {
        this.match.at = from;
        this.match.end = at + 1;
        this.match.id = node.id;
        found = true;
      }
    }
    return found;
  }
}
