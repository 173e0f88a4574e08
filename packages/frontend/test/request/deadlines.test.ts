import { describe, expect, it } from "vitest";
import { type Deadlined, DeadlineSweep } from "../../src/request/deadlines.ts";
import { StallingClock } from "../support/stalling-clock.ts";

const never = Number.POSITIVE_INFINITY;

function rig(requests: Readonly<Record<string, Partial<Deadlined>>>) {
  const clock = new StallingClock(0);
  const table = new Map(
    Object.entries(requests).map(([name, one]) => [
      name,
      { name, deadlineAtMs: never, noticeByMs: never, askAtMs: never, extendAtMs: never, ...one },
    ]),
  );
  const said: string[] = [];
  const sweep = new DeadlineSweep(clock, table, {
    deadlinePassed: ({ name }) => {
      said.push(`deadline ${name}`);
      table.delete(name);
    },
    noticeMissed: ({ name }) => {
      said.push(`notice ${name}`);
      table.delete(name);
    },
    askDue: (request) => {
      said.push(`ask ${request.name}`);
      request.askAtMs += 100;
    },
    leaseDue: ({ name }) => {
      said.push(`lease ${name}`);
      table.delete(name);
    },
    stoodStill: () => said.push("stood still"),
    swept: () => undefined,
  });
  return { clock, said, sweep };
}

describe("the sweep of deadlines", () => {
  it("tells of each request whose time is over, in the sweep after it", async () => {
    const { clock, said, sweep } = rig({
      a: { deadlineAtMs: 120 },
      b: { noticeByMs: 60 },
      c: { extendAtMs: 160 },
      d: {},
    });
    sweep.start(50);

    await clock.advanceBy(99);
    expect(said).toEqual([]);
    await clock.advanceBy(1);
    expect(said).toEqual(["notice b"]);
    await clock.advanceBy(100);

    expect(said).toEqual(["notice b", "deadline a", "lease c"]);
  });

  it("has the router of one that waits asked time and again, whatever else is due", async () => {
    const { clock, said, sweep } = rig({ a: { askAtMs: 90, extendAtMs: 190 } });
    sweep.start(50);

    await clock.advanceBy(200);

    expect(said).toEqual(["ask a", "ask a", "lease a"]);
  });

  it("says that the process stood still before it blames anybody, and not for a late sweep or two", async () => {
    const { clock, said, sweep } = rig({ a: { noticeByMs: 300 } });
    sweep.start(50);

    clock.stalledMs = 150;
    await clock.advanceBy(50);
    expect(said).toEqual([]);
    clock.stalledMs += 400;
    await clock.advanceBy(50);
    await clock.advanceBy(500);

    expect(said).toEqual(["stood still", "notice a"]);
  });

  it("ends with its timer", async () => {
    const { clock, said, sweep } = rig({ a: { deadlineAtMs: 10 } });
    sweep.start(50);

    sweep.stop();
    await clock.advanceBy(100);

    expect(said).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });
});
