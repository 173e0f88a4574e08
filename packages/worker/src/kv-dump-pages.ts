import type { KvEvent } from "@baton/protocol";

const hashBytes = 8;

/** Cuts a dump into pages of at most `pageBlocks` blocks, in order, long runs across pages. At least one page, empty if need be. */
export function cutIntoPages(
  events: readonly KvEvent[],
  pageBlocks: number,
): readonly (readonly KvEvent[])[] {
  const pages: KvEvent[][] = [];
  let page: KvEvent[] = [];
  let room = pageBlocks;
  const add = (event: KvEvent, blocks: number) => {
    page.push(event);
    room -= blocks;
    if (room > 0) return;
    pages.push(page);
    page = [];
    room = pageBlocks;
  };
  for (const event of events) {
    if (event.kind !== "stored") {
      add(event, 1);
      continue;
    }
    const blocks = event.sequenceHashes.byteLength / hashBytes;
    for (let from = 0; from < blocks; ) {
      const to = Math.min(blocks, from + room);
      add(partOfRun(event, from, to), to - from);
      from = to;
    }
  }
  if (page.length > 0 || pages.length === 0) pages.push(page);
  return pages;
}

/** Blocks `from` to before `to` of a run, as a run of their own: the child of the block before them. */
export function partOfRun(
  run: Extract<KvEvent, { kind: "stored" }>,
  from: number,
  to: number,
): KvEvent {
  const { blockHashes, sequenceHashes } = run;
  if (from === 0 && to * hashBytes === sequenceHashes.byteLength) return run;
  const cut = (bytes: Uint8Array) => bytes.subarray(from * hashBytes, to * hashBytes);
  const before = () => sequenceHashes.subarray((from - 1) * hashBytes, from * hashBytes);
  return {
    ...run,
    parent: from === 0 ? run.parent : before(),
    blockHashes: cut(blockHashes),
    sequenceHashes: cut(sequenceHashes),
  };
}
