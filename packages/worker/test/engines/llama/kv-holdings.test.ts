import { describe, expect, it } from "vitest";
import { KvHoldings } from "../../../src/engines/llama/kv-holdings.ts";
import { chainOfBlocks } from "./chains.ts";

const { blocks } = chainOfBlocks(10, 20, 30);

describe("KvHoldings", () => {
  it("tells a run of blocks as one event, with the parent of the first", () => {
    const holdings = new KvHoldings();
    holdings.add(blocks[0]!);
    expect(holdings.takeEvents()).toMatchObject([{ kind: "stored", parent: null }]);
    holdings.add(blocks[1]!);
    holdings.add(blocks[2]!);
    const [event] = holdings.takeEvents();
    expect(event).toEqual({
      kind: "stored",
      parent: blocks[0]?.sequenceHash,
      blockHashes: Uint8Array.from([...blocks[1]!.blockHash, ...blocks[2]!.blockHash]),
      sequenceHashes: Uint8Array.from([...blocks[1]!.sequenceHash, ...blocks[2]!.sequenceHash]),
    });
  });

  it("tells nothing of what came and went, or went and came, in between", () => {
    const holdings = new KvHoldings();
    holdings.add(blocks[0]!);
    holdings.drop(blocks[0]!);
    expect(holdings.takeEvents()).toEqual([]);
    holdings.add(blocks[0]!);
    holdings.takeEvents();
    holdings.drop(blocks[0]!);
    holdings.add(blocks[0]!);
    expect(holdings.takeEvents()).toEqual([]);
  });

  it("keeps a block while anybody holds it", () => {
    const holdings = new KvHoldings();
    holdings.add(blocks[0]!);
    holdings.add(blocks[0]!);
    holdings.takeEvents();
    holdings.drop(blocks[0]!);
    expect(holdings.takeEvents()).toEqual([]);
    holdings.drop(blocks[0]!);
    expect(holdings.takeEvents()).toEqual([
      { kind: "removed", sequenceHashes: blocks[0]?.sequenceHash },
    ]);
    holdings.drop(blocks[0]!);
    expect(holdings.size).toBe(0);
  });
});
