import { actorId, namespaceName, requestId, Subjects, workerId } from "@baton/protocol";
import { VirtualClock } from "@baton/runtime";
import { bench, describe } from "vitest";
import { FramePublisher } from "../src/frame-publisher.ts";
import { recordingPublisher } from "../test/support/recording-publisher.ts";
import { model } from "../test/support/worker-cluster.ts";

const heads = Array.from({ length: 64 }, (_, stream) => ({
  requestId: requestId(`r${stream}`),
  frontendId: actorId("fe-1"),
  frontendGeneration: 1,
  stream,
}));

describe("one step of 64 streams of one Frontend", () => {
  const { publisher, sent } = recordingPublisher();
  const subjects = new Subjects(namespaceName("bench"));
  const frames = new FramePublisher(1, {
    workerId: workerId("w-1"),
    model,
    subjects,
    publisher,
    clock: new VirtualClock(),
    frameIntervalMs: 0,
    streamIntervalMs: 0,
  });
  let offset = 0;
  bench("add and flush", () => {
    for (const head of heads) {
      frames.add(head, {
        stream: head.stream,
        choice: 0,
        offset,
        tokens: [offset & 0xffff],
        logprobs: null,
        end: null,
      });
    }
    frames.flush();
    offset++;
    sent.length = 0;
  });
});
