import { describe, expect, it } from "vitest";
import { ActorHeartbeat } from "../../src/index.ts";
import { samples } from "../samples.ts";

const heartbeat = samples.find(({ type }) => type.name === "actor-heartbeat")
  ?.value as ActorHeartbeat;
const through = (id: string) => ActorHeartbeat.decode(ActorHeartbeat.encode({ ...heartbeat, id }));

describe("the id in a heartbeat", () => {
  it.each(["a", "w-17_B", "x".repeat(64)])("may be %s", (id) => {
    expect(through(id)).toMatchObject({ id });
  });

  it.each(["", "a b", "a.b", "a\r\nPUB b 0\r\n\r\n", "*", ">", "ä", "x".repeat(65)])(
    "is one token of a subject, and so not %j",
    (id) => {
      expect(() => through(id)).toThrow(expect.objectContaining({ code: "malformed_message" }));
    },
  );
});
