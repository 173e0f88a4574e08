import { loadReport } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { liveBookings } from "../src/live-bookings.ts";
import { ids } from "./support/bookings.ts";

describe("the live bookings of a report", () => {
  it("are unknown in a report that does not say", () => {
    expect(liveBookings(loadReport("w-1"))).toBeNull();
    expect(liveBookings(loadReport("w-1", { liveBookings: [] }))).toEqual([]);
  });

  it("have rank, prompt blocks, prompt tokens to compute and output tokens, in this order", () => {
    const report = loadReport("w-1", {
      liveBookings: ids("a", "b"),
      liveStates: [1, 20, 300, 4, 0, 5, 0, 70],
    });

    expect(liveBookings(report)).toEqual([
      { bookingId: "a", dpRank: 1, promptBlocks: 20, prefillTokens: 300, outputTokens: 4 },
      { bookingId: "b", dpRank: 0, promptBlocks: 5, prefillTokens: 0, outputTokens: 70 },
    ]);
  });

  it("are unknown but for their ids where the worker does not say how far they are", () => {
    expect(liveBookings(loadReport("w-1", { liveBookings: ids("a") }))).toEqual([
      { bookingId: "a", dpRank: null, promptBlocks: null, prefillTokens: null, outputTokens: null },
    ]);
  });
});
