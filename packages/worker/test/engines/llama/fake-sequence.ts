/** A sequence that counts: its next token is the sum of what it holds. States are kept in memory by path. */

import type { EvaluateItem, NativeSequence } from "../../../src/engines/llama/native-types.ts";

export const fakeFiles = new Map<string, readonly number[]>();

export class FakeSequence implements NativeSequence {
  held: number[] = [];
  disposed = false;
  /** Sizes of the calls, in order. */
  readonly calls: number[] = [];
  /** Set to make the next evaluation fail. */
  failure: Error | undefined;
  /** Settles by hand if set. */
  gate: Promise<void> | undefined;

  get nextTokenIndex(): number {
    return this.held.length;
  }

  async controlledEvaluate(
    items: readonly EvaluateItem[],
  ): Promise<readonly ({ readonly next: { readonly token: number } } | undefined)[]> {
    this.calls.push(items.length);
    await this.gate;
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
    return items.map((item) => {
      const isWanted = Array.isArray(item);
      this.held.push(isWanted ? item[0] : (item as number));
      return isWanted
        ? { next: { token: this.held.reduce((a, b) => a + b, 0) % 1000 } }
        : undefined;
    });
  }

  async adaptStateToTokens(tokens: readonly number[]): Promise<void> {
    let same = 0;
    while (same < tokens.length && tokens[same] === this.held[same]) same += 1;
    this.held = this.held.slice(0, same);
  }

  async clearHistory(): Promise<void> {
    this.held = [];
  }

  async saveStateToFile(path: string): Promise<void> {
    if (path.includes("broken")) throw new Error("cannot save");
    fakeFiles.set(path, [...this.held]);
  }

  async loadStateFromFile(path: string): Promise<void> {
    const file = fakeFiles.get(path);
    if (file === undefined || this.held.length > 0) throw new Error("Failed to load state");
    this.held = [...file];
  }

  async dispose(): Promise<void> {
    this.disposed = true;
  }
}
