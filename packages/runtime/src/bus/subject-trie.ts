interface Node<T> {
  readonly children: Map<string, Node<T>>;
  readonly values: Set<T>;
}

/**
 * Values by subject pattern, as NATS matches them: `*` stands for one token, a final `>` for one or more. The order
 * of what `match` answers depends on the order of additions only.
 */
export class SubjectTrie<T> {
  readonly #root: Node<T> = newNode();

  add(pattern: string, value: T): void {
    let node = this.#root;
    for (const token of pattern.split(".")) {
      let child = node.children.get(token);
      if (child === undefined) {
        child = newNode();
        node.children.set(token, child);
      }
      node = child;
    }
    node.values.add(value);
  }

  remove(pattern: string, value: T): void {
    this.#remove(this.#root, pattern.split("."), 0, value);
  }

  /** The values of all patterns that a subject without wildcards matches. */
  match(subject: string): T[] {
    const found: T[] = [];
    collect(this.#root, subject.split("."), 0, found);
    return found;
  }

  #remove(node: Node<T>, tokens: readonly string[], depth: number, value: T): void {
    const token = tokens[depth];
    if (token === undefined) {
      node.values.delete(value);
      return;
    }
    const child = node.children.get(token);
    if (child === undefined) return;
    this.#remove(child, tokens, depth + 1, value);
    if (child.values.size === 0 && child.children.size === 0) node.children.delete(token);
  }
}

function newNode<T>(): Node<T> {
  return { children: new Map(), values: new Set() };
}

function collect<T>(node: Node<T>, tokens: readonly string[], depth: number, found: T[]): void {
  const token = tokens[depth];
  if (token === undefined) {
    for (const value of node.values) found.push(value);
    return;
  }
  const tail = node.children.get(">");
  if (tail !== undefined) for (const value of tail.values) found.push(value);
  const any = node.children.get("*");
  if (any !== undefined) collect(any, tokens, depth + 1, found);
  const exact = node.children.get(token);
  if (exact !== undefined) collect(exact, tokens, depth + 1, found);
}
