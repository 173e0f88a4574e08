import { actorId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { ElderWatch, yieldsTo } from "../src/elder.ts";
import { heartbeatWith } from "./support/builders.ts";

describe("yieldsTo", () => {
  it("gives way to an earlier start, then to the smaller id", () => {
    expect(yieldsTo({ id: "b", generation: 5 }, { id: "a", generation: 4 })).toBe(true);
    expect(yieldsTo({ id: "b", generation: 5 }, { id: "a", generation: 6 })).toBe(false);
    expect(yieldsTo({ id: "b", generation: 5 }, { id: "a", generation: 5 })).toBe(true);
    expect(yieldsTo({ id: "a", generation: 5 }, { id: "b", generation: 5 })).toBe(false);
  });

  it("gives way to a later start of its own id", () => {
    expect(yieldsTo({ id: "a", generation: 5 }, { id: "a", generation: 6 })).toBe(true);
    expect(yieldsTo({ id: "a", generation: 6 }, { id: "a", generation: 5 })).toBe(false);
  });
});

describe("ElderWatch", () => {
  it("speaks again when every elder is gone", () => {
    const watch = new ElderWatch({ id: actorId("c"), generation: 5 });
    watch.alive(heartbeatWith("a", { generation: 3 }));
    watch.alive(heartbeatWith("b", { generation: 4 }));
    watch.alive(heartbeatWith("d", { generation: 9 }));

    expect(watch.elders).toEqual(["a", "b"]);
    watch.lost({ id: "a", generation: 3 });
    expect(watch.speaks).toBe(false);
    watch.lost({ id: "b", generation: 4 });
    expect(watch.speaks).toBe(true);
  });

  it("does not count itself, one with other work, or an elder that started again", () => {
    const watch = new ElderWatch({ id: actorId("c"), generation: 5 });
    watch.alive(heartbeatWith("c", { generation: 5 }));
    watch.alive(heartbeatWith("a", { generation: 3 }), false);
    expect(watch.speaks).toBe(true);

    watch.alive(heartbeatWith("b", { generation: 4 }));
    watch.alive(heartbeatWith("b", { generation: 8 }));
    expect(watch.speaks).toBe(false);
    watch.lost({ id: "b", generation: 4 });
    expect(watch.speaks).toBe(true);
  });
});
