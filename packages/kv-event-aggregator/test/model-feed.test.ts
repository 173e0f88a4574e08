import { KvFeed, workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { ModelFeed } from "../src/model-feed.ts";

const entry = {
  kind: "batch",
  workerId: workerId("w"),
  generation: 1,
  dpRank: 0,
  sequence: 7,
  events: Uint8Array.of(1, 2),
} as const;

describe("ModelFeed", () => {
  it("numbers what goes out, and uses no number for what does not", () => {
    const heard: KvFeed[] = [];
    const sent = { batch: 0, reached: 0, gone: 0, back: 0 };
    let isUp = true;
    const publish = (bytes: Uint8Array) => {
      if (isUp) heard.push(KvFeed.decode(bytes));
      return isUp;
    };
    const feed = new ModelFeed({ epoch: 5, sent, publish });

    expect(feed.emit(entry)).toBe(true);
    isUp = false;
    expect(feed.emit(entry)).toBe(false);
    isUp = true;
    expect(feed.emit({ ...entry, kind: "reached" })).toBe(true);

    expect(heard).toEqual([
      { epoch: 5, feedSequence: 1, ...entry },
      { epoch: 5, feedSequence: 2, ...entry, kind: "reached" },
    ]);
    expect(feed.feedSequence).toBe(2);
    expect(sent).toEqual({ batch: 1, reached: 1, gone: 0, back: 0 });
  });
});
