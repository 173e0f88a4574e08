import { describe, expect, it } from "vitest";
import { recordingPublisher } from "./support/recording-publisher.ts";

describe("Publisher", () => {
  it("answers with the bus's error instead of throwing it", () => {
    const { publisher, sent, link } = recordingPublisher();

    expect(publisher.publish("a.b", Uint8Array.of(1))).toBeNull();
    link.isUp = false;
    expect(publisher.publish("a.b", Uint8Array.of(2))).toMatchObject({ code: "bus_unavailable" });

    expect(sent).toEqual([{ subject: "a.b", payload: Uint8Array.of(1) }]);
  });
});
