import { actorId, namespaceName, requestId, Subjects, TokenFrame, workerId } from "@baton/protocol";
import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { FramePublisher, framesKept } from "../src/frame-publisher.ts";
import { recordingPublisher } from "./support/recording-publisher.ts";
import { model } from "./support/worker-cluster.ts";

const head = (frontend: string, frontendGeneration: number, stream: number) => ({
  requestId: requestId(`r${stream}`),
  frontendId: actorId(frontend),
  frontendGeneration,
  stream,
});
const entry = (stream: number, offset: number) => ({
  stream,
  choice: 0,
  offset,
  tokens: [offset + 100],
  logprobs: null,
  end: null,
});

function create(frameIntervalMs = 0, streamIntervalMs = 0) {
  const clock = new VirtualClock();
  const recorded = recordingPublisher();
  const frames = new FramePublisher(5, {
    workerId: workerId("w-1"),
    model,
    subjects: new Subjects(namespaceName("test")),
    publisher: recorded.publisher,
    clock,
    frameIntervalMs,
    streamIntervalMs,
  });
  const sent = () => recorded.sent.map(({ payload }) => TokenFrame.decode(payload));
  return { ...recorded, clock, frames, sent };
}

const ask = (from: number, to: number, frontendGeneration = 1) => ({
  frontendId: "fe-1",
  frontendGeneration,
  from,
  to,
});

describe("FramePublisher", () => {
  it("sends one frame a Frontend for all that was added, and none without", () => {
    const { frames, sent } = create();
    frames.add(head("fe-1", 1, 1), entry(1, 0));
    frames.add(head("fe-2", 1, 1), entry(1, 0));
    frames.add(head("fe-1", 1, 2), entry(2, 0));
    frames.flush();
    frames.flush();

    expect(sent()).toEqual([
      expect.objectContaining({ sequence: 0, entries: [entry(1, 0), entry(2, 0)] }),
      expect.objectContaining({ sequence: 0, entries: [entry(1, 0)] }),
    ]);
  });

  it("sends the first tokens at once, and those of faster steps together when their time has come", async () => {
    const { clock, frames, sent } = create(1);
    for (let i = 0; i < 4; i++) {
      frames.add(head("fe-1", 1, 1), entry(1, i));
      frames.flush();
      await clock.advanceBy(0.25);
    }
    frames.add(head("fe-2", 1, 1), entry(1, 0));
    frames.flush();
    await clock.advanceBy(5);
    frames.add(head("fe-1", 1, 1), entry(1, 4));
    frames.flush();

    expect(sent().map((frame) => frame.entries.map(({ tokens }) => tokens))).toEqual([
      [[100]],
      [[101, 102, 103]],
      [[100]],
      [[104]],
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("lets those wait longer who read on than those who wait for a beginning or an end", async () => {
    const { clock, frames, sent } = create(1, 4);
    const step = async (...entries: Parameters<typeof frames.add>[1][]) => {
      for (const one of entries) frames.add(head("fe-1", 1, one.stream), one);
      frames.flush();
      await clock.advanceBy(0.5);
    };
    await step(entry(1, 0));
    await step(entry(1, 1));
    await step(entry(1, 2));
    await step(entry(1, 3), entry(2, 0));
    for (let i = 4; i < 20; i++) await step(entry(1, i));
    await step({ ...entry(1, 20), end: { reason: "stop", cachedTokens: 0, error: null } });

    const told = sent().map(({ entries }) => entries.map(({ tokens }) => tokens.length));
    expect(told).toEqual([[1], [3, 1], [7], [8], [2]]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("sends at once what waits when it ends", async () => {
    const { clock, frames, sent } = create(1);
    for (let i = 0; i < 2; i++) {
      frames.add(head("fe-1", 1, 1), entry(1, i));
      frames.flush();
    }
    frames.flushAll();

    expect(sent()).toHaveLength(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it("keeps the newest frames, those included that the bus did not take", () => {
    const { frames, sent, link } = create();
    for (let i = 0; i < framesKept + 10; i++) {
      link.isUp = i % 2 === 0;
      frames.add(head("fe-1", 1, 1), entry(1, i));
      frames.flush();
    }

    const sequences = (from: number, to: number) =>
      frames.missing(ask(from, to)).map((bytes) => TokenFrame.decode(bytes).sequence);
    expect(sent()).toHaveLength((framesKept + 10) / 2);
    expect(sequences(20, 23)).toEqual([20, 21, 22, 23]);
    expect(sequences(0, 11)).toEqual([10, 11]);
    expect(sequences(framesKept + 8, framesKept + 99)).toEqual([framesKept + 8, framesKept + 9]);
    expect(sequences(9, 3)).toEqual([]);
  });

  it("counts for each life of a Frontend, also beside work for a life that never was", () => {
    const { frames, sent } = create();
    for (const generation of [1, 2, 1]) {
      frames.add(head("fe-1", generation, 1), entry(1, 0));
      frames.flush();
    }

    expect(sent().map((frame) => [frame.frontendGeneration, frame.sequence])).toEqual([
      [1, 0],
      [2, 0],
      [1, 1],
    ]);
    expect(frames.missing(ask(0, 9, 1))).toHaveLength(2);
    expect(frames.missing(ask(0, 9, 2))).toHaveLength(1);
    expect(frames.missing(ask(0, 9, 3))).toEqual([]);
  });

  it("forgets a lost Frontend, but not its next life", () => {
    const { frames } = create();
    for (const generation of [1, 2]) frames.add(head("fe-1", generation, 1), entry(1, 0));
    frames.flush();

    frames.forget(actorId("fe-1"), 1);
    expect(frames.missing(ask(0, 0, 1))).toEqual([]);
    expect(frames.missing(ask(0, 0, 2))).toHaveLength(1);
    frames.forget(actorId("fe-1"), 2);
    expect(frames.missing(ask(0, 0, 2))).toEqual([]);
  });

  it("sends what is left under the old generation when the worker begins a new one", () => {
    const { frames, sent } = create();
    frames.add(head("fe-1", 1, 1), entry(1, 0));
    frames.restart(6);
    frames.add(head("fe-1", 1, 1), entry(1, 0));
    frames.flush();

    expect(sent().map((frame) => [frame.generation, frame.sequence])).toEqual([
      [5, 0],
      [6, 0],
    ]);
  });
});
