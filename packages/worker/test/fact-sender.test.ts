import {
  actorId,
  LegFailed,
  namespaceName,
  requestId,
  ServingError,
  Subjects,
} from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { FactSender } from "../src/fact-sender.ts";
import { recordingPublisher } from "./support/recording-publisher.ts";
import { model } from "./support/worker-cluster.ts";

const head = (name: string) => ({
  requestId: requestId(name),
  frontendId: actorId("fe-1"),
  frontendGeneration: 1,
  stream: 1,
});

describe("FactSender", () => {
  it("says the failures that the bus did not take when it is back, once", () => {
    const { publisher, sent, link } = recordingPublisher();
    const subjects = new Subjects(namespaceName("test"));
    const facts = new FactSender({ actorId: actorId("w-1"), model, subjects, publisher });
    link.isUp = false;
    for (let n = 0; n < 1_030; n++) {
      facts.legFailed(head(`r${n}`), "decode", new ServingError("engine_lost"));
    }
    facts.resend();
    link.isUp = true;
    facts.resend();
    facts.resend();

    expect(sent).toHaveLength(1_024);
    const last = LegFailed.decode(sent.at(-1)?.payload ?? new Uint8Array());
    expect(last).toMatchObject({ requestId: "r1029", leg: "decode", actorId: "w-1" });
  });
});
