import type { KvEvent } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { BlockReferences } from "../src/block-references.ts";

const hashes = (...ids: number[]) => new Uint8Array(ids.flatMap((id) => [id, 0, 0, 0, 0, 0, 0, 0]));
const run = (...ids: number[]): KvEvent => ({
  kind: "stored",
  parent: null,
  blockHashes: hashes(...ids.map((id) => id + 100)),
  sequenceHashes: hashes(...ids),
});

describe("BlockReferences", () => {
  it("cuts what is held out of a run, and keeps what is left under its parent", () => {
    const references = new BlockReferences();
    references.filter([run(2, 4)]);

    expect(references.filter([run(1, 2, 3, 4, 5)])).toEqual([
      run(1),
      { kind: "stored", parent: hashes(2), blockHashes: hashes(103), sequenceHashes: hashes(3) },
      { kind: "stored", parent: hashes(4), blockHashes: hashes(105), sequenceHashes: hashes(5) },
    ]);
    expect(references.size).toBe(5);
  });

  it("hands on a run that is all new as it is", () => {
    const event = run(1, 2, 3);

    expect(new BlockReferences().filter([event])[0]).toBe(event);
  });

  it("says nothing of a removal of what is not held", () => {
    expect(new BlockReferences().filter([{ kind: "removed", sequenceHashes: hashes(9) }])).toEqual(
      [],
    );
  });
});
