import { LoadReport, namespaceName, requestId, Subjects, workerId } from "@baton/protocol";
import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { LoadReporter } from "../src/load-reporter.ts";
import { recordingPublisher } from "./support/recording-publisher.ts";
import { model } from "./support/worker-cluster.ts";

function create() {
  const clock = new VirtualClock();
  const recorded = recordingPublisher();
  const live = [requestId("live")];
  const reporter = new LoadReporter({
    workerId: workerId("w-1"),
    model,
    subjects: new Subjects(namespaceName("test")),
    clock,
    publisher: recorded.publisher,
    source: {
      generation: () => 5,
      accepting: () => true,
      load: () => ({
        runningSequences: 1,
        waitingSequences: null,
        activeBlocks: 2,
        cachedBlocks: 3,
        totalBlocks: 4,
        waitingPrefillTokens: 0,
      }),
      handoffsHeld: () => 1,
      live: () => ({ bookings: live, states: [0, 2, 33, 0] }),
    },
  });
  const sent = () => recorded.sent.map(({ payload }) => LoadReport.decode(payload));
  return { clock, reporter, sent, link: recorded.link };
}

describe("LoadReporter", () => {
  it("puts the changes of a few milliseconds into one report", async () => {
    const { clock, reporter, sent } = create();
    reporter.changed();
    reporter.ended(requestId("a"));
    await clock.advanceBy(5);
    reporter.ended(requestId("b"));
    await clock.advanceBy(5);

    expect(sent()).toEqual([
      {
        workerId: "w-1",
        generation: 5,
        sequence: 0,
        accepting: true,
        runningSequences: 1,
        waitingSequences: null,
        activeBlocks: 2,
        cachedBlocks: 3,
        totalBlocks: 4,
        waitingPrefillTokens: 0,
        handoffsHeld: 1,
        endedBookings: ["a", "b"],
        liveBookings: null,
        prefilledBookings: [],
        refusedBookings: [],
        liveStates: null,
      },
    ]);
  });

  it("lists all that lives with each heartbeat", async () => {
    const { clock, reporter, sent } = create();
    reporter.start(250);
    await clock.advanceBy(500);
    reporter.stop();
    await clock.advanceBy(500);

    expect(sent().map((report) => report.liveBookings)).toEqual([["live"], ["live"]]);
    expect(sent().map((report) => report.liveStates)).toEqual(Array(2).fill([0, 2, 33, 0]));
    expect(clock.pendingTimers).toBe(0);
  });

  it("keeps what has ended until a report is sent", async () => {
    const { clock, reporter, sent, link } = create();
    link.isUp = false;
    reporter.ended(requestId("a"));
    await clock.advanceBy(20);
    link.isUp = true;
    reporter.changed();
    await clock.advanceBy(20);

    expect(sent().map((report) => report.endedBookings)).toEqual([["a"]]);
  });

  it("says once whose prompt is computed and who was refused, and keeps it until a report is sent", async () => {
    const { clock, reporter, sent, link } = create();
    link.isUp = false;
    reporter.prefilled(requestId("a"));
    reporter.refused(requestId("b"));
    await clock.advanceBy(20);
    link.isUp = true;
    reporter.changed();
    await clock.advanceBy(20);
    reporter.changed();
    await clock.advanceBy(20);

    expect(sent().map((report) => report.prefilledBookings)).toEqual([["a"], []]);
    expect(sent().map((report) => report.refusedBookings)).toEqual([["b"], []]);
  });

  it("keeps no more of them than it must", async () => {
    const { clock, reporter, sent } = create();
    for (let n = 0; n < 5_000; n++) reporter.ended(requestId(`r${n}`));
    await clock.advanceBy(20);

    expect(sent()[0]?.endedBookings).toHaveLength(4_096);
  });
});
