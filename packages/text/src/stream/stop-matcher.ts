// Hot: `feed` once per streamed token of a request that has stop strings.

/** What one more piece of text brings. */
export interface StopResult {
  /** Text that can be shown: no stop string begins in it. */
  readonly emit: string;
  /** The stop string that was found. The text before it has been emitted, nothing more comes. */
  readonly matched?: string;
}

interface StopNode {
  /** Units that can follow. */
  readonly next: Map<number, StopNode>;
  /** How many units of a stop string have been read here. */
  readonly depth: number;
  /** Where the longest proper suffix of what was read is: the place to go on if nothing fits. */
  fallback: StopNode | undefined;
  /** The longest stop string that ends here. */
  stop: string | undefined;
}

/**
 * Finds stop strings in streamed text, across pieces.
 *
 * The stop that is complete first counts, of several that are complete at once the longest, so that the result does not
 * depend on how the text is cut into pieces. Text that may begin a stop is held back. Empty stops are ignored.
 */
export class StopMatcher {
  private readonly root: StopNode = makeNode(0);
  private node: StopNode = this.root;
  private held = "";
  private stopped = false;

  constructor(stops: readonly string[]) {
    for (const stop of stops) {
      this.insert(stop);
    }
    this.linkFallbacks();
  }

  /** Adds a piece of text. After a match everything is ignored. */
  feed(text: string): StopResult {
    if (this.stopped) {
      return { emit: "" };
    }
    let node = this.node;
    for (let at = 0; at < text.length; at += 1) {
      node = this.advance(node, text.charCodeAt(at));
      if (node.stop !== undefined) {
        return this.finish(this.held + text.slice(0, at + 1), node.stop);
      }
    }
    this.node = node;
    if (node.depth === 0 && this.held === "") {
      return { emit: text };
    }
    const all = this.held + text;
    const shown = all.length - node.depth;
    this.held = all.slice(shown);
    return { emit: all.slice(0, shown) };
  }

  /** Ends the text: what was held back. */
  flush(): string {
    const { held } = this;
    this.held = "";
    this.node = this.root;
    return held;
  }

  private finish(read: string, stop: string): StopResult {
    this.stopped = true;
    this.held = "";
    return { emit: read.slice(0, read.length - stop.length), matched: stop };
  }

  private advance(from: StopNode, unit: number): StopNode {
    for (let node: StopNode | undefined = from; node !== undefined; node = node.fallback) {
      const next = node.next.get(unit);
      if (next !== undefined) {
        return next;
      }
    }
    return this.root;
  }

  private insert(stop: string): void {
    let node = this.root;
    for (let at = 0; at < stop.length; at += 1) {
      const unit = stop.charCodeAt(at);
      let child = node.next.get(unit);
      if (child === undefined) {
        child = makeNode(node.depth + 1);
        node.next.set(unit, child);
      }
      node = child;
    }
    if (node !== this.root) {
      node.stop = stop;
    }
  }

  private linkFallbacks(): void {
    const queue: StopNode[] = [this.root];
    for (const node of queue) {
      for (const [unit, child] of node.next) {
        child.fallback =
          node.fallback === undefined ? this.root : this.advance(node.fallback, unit);
        child.stop ??= child.fallback.stop;
        queue.push(child);
      }
    }
  }
}

function makeNode(depth: number): StopNode {
  return { next: new Map(), depth, fallback: undefined, stop: undefined };
}
