import { describe, expect, it } from "vitest";
import { BlockPool } from "../src/block-pool.ts";
import type { EngineRequest, HandoffReservation } from "../src/index.ts";
import { RequestBook } from "../src/request-book.ts";
import { ReservationDesk } from "../src/reservation-desk.ts";
import { MockScheduler } from "../src/scheduler.ts";
import type { Sequence } from "../src/sequence.ts";
import { requestOf, tokensFrom } from "./support/builders.ts";
import { testHasher } from "./support/test-hasher.ts";

/** A desk before a pool of six blocks and two slots. */
function office() {
  const pool = new BlockPool({ blockCount: 6, blockSize: 4, prefixCaching: true });
  const options = {
    maxNumSeqs: 2,
    maxNumBatchedTokens: 100,
    chunkedPrefill: true,
    preemptionMode: "lifo" as const,
  };
  const scheduler = new MockScheduler<EngineRequest>(options, { pool, hasher: testHasher });
  const book = new RequestBook<EngineRequest>(pool, testHasher);
  const desk = new ReservationDesk<EngineRequest>(pool, scheduler);
  const arrive = (id: string, length: number): Sequence<EngineRequest> =>
    book.open(requestOf({ id, promptTokens: tokensFrom(length * 100, length) }), "decode", [1]);
  return { pool, scheduler, book, desk, arrive };
}

describe("ReservationDesk", () => {
  it("serves who comes first, even if one behind would fit", () => {
    const { desk, arrive } = office();
    expect(desk.add(arrive("a", 13))).toMatchObject({ totalBlocks: 4 });
    expect(desk.add(arrive("b", 12))).toBeUndefined();
    expect(desk.add(arrive("c", 4))).toBeUndefined();

    const reserved: HandoffReservation<EngineRequest>[] = [];
    desk.reserveQueued(reserved);

    expect([reserved.length, desk.queued, desk.reserved]).toEqual([0, 2, 1]);
  });

  it("serves the queue when blocks and slots come back", () => {
    const { desk, arrive, book, scheduler } = office();
    const first = arrive("a", 13);
    desk.add(first);
    desk.add(arrive("b", 12));
    desk.add(arrive("c", 4));
    desk.remove(first);
    book.forget(first);

    const reserved: HandoffReservation<EngineRequest>[] = [];
    desk.reserveQueued(reserved);

    expect(reserved.map((reservation) => reservation.request.id)).toEqual(["b", "c"]);
    expect(scheduler.hasSlots(1)).toBe(false);
  });

  it("leaves slots and blocks with a sequence whose KV has come", () => {
    const { desk, arrive, pool, scheduler } = office();
    desk.add(arrive("a", 8));
    expect(desk.pending("a")?.missing()).toEqual([0, 1]);

    desk.close("a");

    expect([desk.reserved, pool.activeBlocks, scheduler.hasSlots(2)]).toEqual([0, 2, false]);
    expect(desk.pending("a")).toBeUndefined();
  });

  it("forgets a queued sequence that is removed", () => {
    const { desk, arrive } = office();
    desk.add(arrive("a", 24));
    const second = arrive("b", 4);
    desk.add(second);

    desk.remove(second);

    expect([desk.queued, desk.reserved]).toEqual([0, 1]);
  });
});
