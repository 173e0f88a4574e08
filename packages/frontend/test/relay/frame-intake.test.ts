import { ServingError, type TokenFrame, workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { FrameIntake } from "../../src/relay/frame-intake.ts";

const w1 = workerId("w1");

function frame(sequence: number, generation = 1): TokenFrame {
  return { workerId: w1, generation, frontendGeneration: 1, sequence, entries: [] };
}

function rig(maxHeld = 8, isExpected: (frame: TokenFrame) => boolean = () => true) {
  const delivered: string[] = [];
  const lost: number[] = [];
  const asked: [number, number][] = [];
  let answer: (found: readonly TokenFrame[]) => void = () => undefined;
  let refuse: (error: unknown) => void = () => undefined;
  const intake = new FrameIntake(maxHeld, {
    fetch: (_worker, from, to) => {
      asked.push([from, to]);
      return new Promise((resolve, reject) => {
        answer = resolve;
        refuse = reject;
      });
    },
    isExpected,
    deliver: ({ generation, sequence }) => delivered.push(`${generation}.${sequence}`),
    onFramesLost: (_worker, generation) => lost.push(generation),
    dropped: { add: () => undefined },
  });
  return {
    asked,
    delivered,
    intake,
    lost,
    answer: async (found: readonly TokenFrame[]) => {
      answer(found);
      await Promise.resolve();
    },
    refuse: async (error: unknown) => {
      refuse(error);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe("the frames of a worker", () => {
  it("are delivered as they come when none is missing", () => {
    const { asked, delivered, intake } = rig();

    for (const sequence of [0, 1, 2]) intake.take(frame(sequence));

    expect(delivered).toEqual(["1.0", "1.1", "1.2"]);
    expect(asked).toEqual([]);
  });

  it("wait behind a gap until it is filled, asked for once", async () => {
    const { answer, asked, delivered, intake } = rig();
    intake.take(frame(0));
    intake.take(frame(3));
    intake.take(frame(4));
    expect(delivered).toEqual(["1.0"]);

    await answer([frame(1), frame(2)]);

    expect(asked).toEqual([[1, 2]]);
    expect(delivered).toEqual(["1.0", "1.1", "1.2", "1.3", "1.4"]);
  });

  it("go on after a gap that nobody can fill, and that is said once", async () => {
    const { answer, delivered, intake, lost } = rig();
    intake.take(frame(0));
    intake.take(frame(3));

    await answer([frame(2)]);

    expect(lost).toEqual([1]);
    expect(delivered).toEqual(["1.0", "1.2", "1.3"]);
  });

  it("go on after a gap whose worker does not answer", async () => {
    const { delivered, intake, lost, refuse } = rig();
    intake.take(frame(1));

    await refuse(new ServingError("deadline_exceeded"));

    expect(lost).toEqual([1]);
    expect(delivered).toEqual(["1.1"]);
  });

  it("wait for the bus to come back", async () => {
    const { answer, delivered, intake, lost, refuse } = rig();
    intake.take(frame(1));
    await refuse(new ServingError("bus_unavailable"));
    expect(lost).toEqual([]);

    intake.catchUp(w1, 1);
    await answer([frame(0), frame(1), frame(2)]);

    expect(delivered).toEqual(["1.0", "1.1", "1.2"]);
  });

  it("never wait in greater number than allowed", () => {
    const { delivered, intake, lost } = rig(2);

    for (const sequence of [1, 2, 3]) intake.take(frame(sequence));

    expect(lost).toEqual([1]);
    expect(delivered).toEqual(["1.1", "1.2", "1.3"]);
  });

  it("count from 0 again with a later generation, and an earlier one is dropped", () => {
    const { delivered, intake } = rig();

    intake.take(frame(0, 1));
    intake.take(frame(0, 2));
    intake.take(frame(1, 1));
    intake.take(frame(1, 2));

    expect(delivered).toEqual(["1.0", "2.0", "2.1"]);
  });

  it("go on when something claims a later generation that nobody expects", () => {
    const { delivered, intake } = rig(8, ({ generation }) => generation === 1);

    intake.take(frame(0, 1));
    intake.take(frame(0, 9));
    intake.take(frame(1, 1));

    expect(delivered).toEqual(["1.0", "1.1"]);
  });

  it("count from 0 again when the worker had taken this Frontend for lost", () => {
    const { asked, delivered, intake } = rig();
    for (const sequence of [0, 1, 2]) intake.take(frame(sequence));

    intake.take(frame(0));
    intake.take(frame(1));

    expect(delivered).toEqual(["1.0", "1.1", "1.2", "1.0", "1.1"]);
    expect(asked).toEqual([]);
  });

  it("are not delivered from an answer that comes after the worker was lost", async () => {
    const { answer, delivered, intake } = rig();
    intake.take(frame(1));
    intake.forget(w1);

    await answer([frame(0)]);

    expect(delivered).toEqual([]);
    expect(intake.size).toBe(0);
  });

  it("of one that was lost and is back go on wherever its count is, and nothing from before is asked for", () => {
    const { asked, delivered, intake, lost } = rig();
    intake.take(frame(0));
    intake.forget(w1);
    intake.catchUp(w1, 1);

    intake.take(frame(700));
    intake.take(frame(701));
    intake.take(frame(703));

    expect(delivered).toEqual(["1.0", "1.700", "1.701"]);
    expect(asked).toEqual([[702, 702]]);
    expect(lost).toEqual([]);
  });

  it("of a later life of a lost one start from 0", () => {
    const { asked, intake } = rig();
    intake.take(frame(0));
    intake.forget(w1);

    intake.take(frame(2, 2));

    expect(asked).toEqual([[0, 1]]);
  });

  it("are remembered for a bounded number of lost workers", () => {
    const { asked, intake } = rig();
    const from = (id: string, sequence: number) => ({ ...frame(sequence), workerId: workerId(id) });
    for (let count = 0; count <= 1_024; count += 1) {
      intake.take(from(`w-${count}`, 0));
      intake.forget(workerId(`w-${count}`));
    }

    intake.take(from("w-1024", 9));
    intake.take(from("w-0", 9));

    expect(asked).toEqual([[0, 8]]);
    expect(intake.size).toBe(2);
  });
});
