// Hot: once per prompt and once per 1,024 characters of it. Bench: bench/tokenizer.bench.ts.

/** One piece of text below the pieces before it, and the ids that it adds to theirs. */
export interface PrefixNode {
  /** The piece: equal text, not an equal hash, leads here. Empty at the root. */
  readonly piece: string;
  readonly parent: PrefixNode | undefined;
  /** Up to where the ids of this node and of those above it reach, in UTF-16 units from the beginning of the text. */
  readonly cut: number;
  /** The ids between the parent's cut and this one. */
  readonly ids: Uint32Array;
  /** The child that was used last. */
  recent: PrefixNode | undefined;
  /** All children, once there have been two. */
  children: Map<string, PrefixNode> | undefined;
  // In the list of nodes by last use. A node stands before its children, so the last one is always a leaf.
  newer: PrefixNode | undefined;
  older: PrefixNode | undefined;
  isHeld: boolean;
}

/** Units of text in one piece. */
export const defaultPieceUnits = 1024;
/** What a node takes beside its text and its ids. */
const nodeBytes = 500;

/**
 * The ids of prompts' beginnings, so that what prompts share is tokenized once.
 *
 * A tree of raw text in pieces of equal length. Bounded by bytes: leaves that were used longest ago are dropped.
 */
export class PrefixTrie {
  readonly pieceUnits: number;
  readonly root: PrefixNode = makeNode("", undefined, 0, new Uint32Array());
  /** What the nodes take in memory, about. */
  bytes = 0;
  private readonly maxBytes: number;
  private newest: PrefixNode | undefined;
  private oldest: PrefixNode | undefined;

  /** `maxBytes` bounds the memory of all nodes. `pieceUnits` is how long a piece of text is. */
  constructor(maxBytes: number, pieceUnits: number = defaultPieceUnits) {
    this.maxBytes = maxBytes;
    this.pieceUnits = pieceUnits;
  }

  /** The node of the piece of `text` that begins at `at`, below `node`. */
  child(node: PrefixNode, text: string, at: number): PrefixNode | undefined {
    const { recent } = node;
    if (recent === undefined) {
      return undefined;
    }
    const piece = text.slice(at, at + this.pieceUnits);
    // Comparing takes a twentieth of hashing, and most nodes have one child.
    if (recent.piece === piece) {
      return recent;
    }
    const found = node.children?.get(piece);
    if (found !== undefined) {
      node.recent = found;
    }
    return found;
  }

  /** Says that a node and all above it were used. */
  touch(node: PrefixNode): void {
    for (let at = node; at.parent !== undefined; at = at.parent) {
      if (at.isHeld) {
        this.unlink(at);
        this.linkBehind(undefined, at);
      }
    }
  }

  /**
   * Adds the piece of `text` at `at` below `parent`, or finds it there. Undefined if the parent has been dropped, or if
   * there is no room.
   */
  extend(
    parent: PrefixNode,
    text: string,
    at: number,
    cut: number,
    ids: Uint32Array,
  ): PrefixNode | undefined {
    if (parent !== this.root && !parent.isHeld) {
      return undefined;
    }
    const known = this.child(parent, text, at);
    if (known !== undefined) {
      return known;
    }
    const node = makeNode(copyOf(text, at, at + this.pieceUnits), parent, cut, ids);
    adopt(parent, node);
    node.isHeld = true;
    this.linkBehind(parent === this.root ? undefined : parent, node);
    this.bytes += this.bytesOf(node);
    while (this.bytes > this.maxBytes && this.oldest !== undefined) {
      this.drop(this.oldest);
    }
    return node.isHeld ? node : undefined;
  }

  private bytesOf(node: PrefixNode): number {
    return nodeBytes + 2 * this.pieceUnits + 4 * node.ids.length;
  }

  /** Drops a leaf. */
  private drop(leaf: PrefixNode): void {
    this.unlink(leaf);
    leaf.isHeld = false;
    this.bytes -= this.bytesOf(leaf);
    if (leaf.parent !== undefined) {
      disown(leaf.parent, leaf);
    }
  }

  /** Puts a node behind another, or in front of all. */
  private linkBehind(before: PrefixNode | undefined, node: PrefixNode): void {
    const after = before === undefined ? this.newest : before.older;
    node.newer = before;
    node.older = after;
    if (before === undefined) {
      this.newest = node;
    } else {
      before.older = node;
    }
    if (after === undefined) {
      this.oldest = node;
    } else {
      after.newer = node;
    }
  }

  private unlink(node: PrefixNode): void {
    const { newer, older } = node;
    if (newer === undefined) {
      this.newest = older;
    } else {
      newer.older = older;
    }
    if (older === undefined) {
      this.oldest = newer;
    } else {
      older.newer = newer;
    }
    node.newer = undefined;
    node.older = undefined;
  }
}

function makeNode(
  piece: string,
  parent: PrefixNode | undefined,
  cut: number,
  ids: Uint32Array,
): PrefixNode {
  return {
    piece,
    parent,
    cut,
    ids,
    recent: undefined,
    children: undefined,
    newer: undefined,
    older: undefined,
    isHeld: false,
  };
}

function adopt(parent: PrefixNode, node: PrefixNode): void {
  const only = parent.recent;
  if (parent.children === undefined && only !== undefined) {
    parent.children = new Map([[only.piece, only]]);
  }
  parent.children?.set(node.piece, node);
  parent.recent = node;
}

function disown(parent: PrefixNode, node: PrefixNode): void {
  parent.children?.delete(node.piece);
  if (parent.recent === node) {
    parent.recent = parent.children?.values().next().value;
  }
}

/** A copy: a slice would keep the whole text alive. */
function copyOf(text: string, from: number, to: number): string {
  const middle = (from + to) >> 1;
  return [text.slice(from, middle), text.slice(middle, to)].join("");
}
