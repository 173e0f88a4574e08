import { type KvHistory, workerId } from "@baton/protocol";
import { ManualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { type DeskAsk, HistoryDesk, type WorkerAsk } from "../src/history-desk.ts";
import { model } from "./support/kv-world.ts";

const pageBytes = 100;

function history(
  kind: "batches" | "dump",
  lastSequence: number,
  page = 0,
  next: number | null = null,
) {
  const about = { workerId: workerId("w"), generation: 1, dpRank: 0, lastSequence, page, next };
  return { ...about, kind, bodies: [new Uint8Array(pageBytes)] } as const;
}

function deskWith(options: { readonly maxBytes?: number } = {}) {
  const clock = new ManualClock();
  const asked: { ask: WorkerAsk; done: (answer: KvHistory) => void; fail: () => void }[] = [];
  const desk = new HistoryDesk(
    { keepMs: 1_000, maxBytes: 10_000, ...options },
    {
      clock,
      ask: (ask) =>
        new Promise((resolve, reject) => {
          asked.push({ ask, done: resolve, fail: () => reject(new Error("no answer")) });
        }),
    },
  );
  const want = (changes: Partial<DeskAsk> = {}): Promise<KvHistory> =>
    desk.answer({
      model,
      workerId: workerId("w"),
      generation: 1,
      dpRank: 0,
      from: null,
      dump: null,
      page: 0,
      atLeast: 0,
      ...changes,
    });
  return { asked, clock, desk, want };
}

describe("HistoryDesk", () => {
  it("shares an ask that is under way among all who want the same", async () => {
    const { asked, desk, want } = deskWith();
    const wanted = [
      want({ from: 3 }),
      want({ from: 3 }),
      want({ from: 4 }),
      want({ dpRank: 1, from: 3 }),
    ];
    expect(asked.map(({ ask }) => [ask.dpRank, ask.from])).toEqual([
      [0, 3],
      [0, 4],
      [1, 3],
    ]);

    for (const { done } of asked) done(history("batches", 5));

    expect((await Promise.all(wanted)).map(({ lastSequence }) => lastSequence)).toEqual([
      5, 5, 5, 5,
    ]);
    expect(desk.asked).toBe(3);
    want({ from: 3 }).catch(() => undefined);
    expect(asked).toHaveLength(4);
  });

  it("answers with the pages of a dump that it keeps, for so long", async () => {
    const { asked, clock, desk, want } = deskWith();
    const pages = [want(), want({ dump: 5, page: 1 })];
    asked[0]?.done(history("dump", 5, 0, 1));
    await pages[0];
    asked[1]?.done(history("dump", 5, 1));
    await pages[1];

    expect(await want()).toMatchObject({ lastSequence: 5, page: 0, next: 1 });
    expect(await want({ dump: 5, page: 1 })).toMatchObject({ page: 1, next: null });
    expect(desk.bytes).toBe(2 * pageBytes);
    await clock.advanceBy(1_001);
    want().catch(() => undefined);
    expect(asked).toHaveLength(3);
    desk.sweep();

    expect(desk.bytes).toBe(0);
  });

  it("asks anew for who knows more than a dump that is kept or under way", async () => {
    const { asked, want } = deskWith();
    const first = want();
    const second = want({ atLeast: 7 });
    asked[0]?.done(history("dump", 5));
    await first;
    await Promise.resolve();
    expect(asked).toHaveLength(2);
    asked[1]?.done(history("dump", 8));

    expect(await second).toMatchObject({ lastSequence: 8 });
    expect(await want({ atLeast: 8 })).toMatchObject({ lastSequence: 8 });
    expect(asked).toHaveLength(2);
  });

  it("lets a newer dump take the place of an older one, and keeps no page of neither", async () => {
    const { asked, desk, want } = deskWith();
    const first = want();
    asked[0]?.done(history("dump", 5, 0, 1));
    await first;
    const second = want({ dump: 5, page: 1 });
    asked[1]?.done(history("dump", 6, 0, 1));
    expect(await second).toMatchObject({ lastSequence: 6, page: 0 });
    const stray = want({ dump: 4, page: 1 });
    asked[2]?.done(history("dump", 4, 1));
    await stray;

    expect(desk.bytes).toBe(pageBytes);
    expect(await want()).toMatchObject({ lastSequence: 6 });
  });

  it("keeps no more bytes than it may: the oldest dump goes", async () => {
    const { asked, desk, want } = deskWith({ maxBytes: 250 });
    for (const generation of [1, 2, 3]) {
      const wanted = want({ generation });
      asked.at(-1)?.done(history("dump", 5));
      await wanted;
    }
    expect(desk.bytes).toBe(200);

    await want({ generation: 3 });
    want({ generation: 1 }).catch(() => undefined);

    expect(asked).toHaveLength(4);
    desk.clear();
    expect(desk.bytes).toBe(0);
  });

  it("tells all who wait that the worker did not answer, and asks the next time", async () => {
    const { asked, want } = deskWith();
    const wanted = [want(), want()];
    asked[0]?.fail();

    for (const each of wanted) await expect(each).rejects.toThrow("no answer");
    want().catch(() => undefined);
    expect(asked).toHaveLength(2);
  });
});
