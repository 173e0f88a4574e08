import { actorId } from "@baton/protocol";
import { routeDecode } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { type Waiting, WaitingRoom } from "../src/waiting-room.ts";

type Request = ReturnType<typeof routeDecode>;

function waiting(id: string, changes: Partial<Waiting<Request>> & Partial<Request> = {}) {
  const { isStaged = false, kind = "any", arrivedMs = 0, ...request } = changes;
  return { request: routeDecode(id, request), arrivedMs, isStaged, kind };
}

function roomWith(...all: readonly Waiting<Request>[]) {
  const room = new WaitingRoom<Request>(4);
  for (const each of all) room.enter(each);
  return room;
}

/** Places as many as there is room, and answers who was tried. */
function placeInto(room: WaitingRoom<Request>, roomOf: Record<string, number>): string[] {
  const tried: string[] = [];
  room.place(({ request, kind }) => {
    const left = roomOf[kind] ?? 0;
    tried.push(request.requestId);
    roomOf[kind] = left - 1;
    return left > 0 ? "left" : "waits";
  });
  return tried;
}

describe("a waiting room", () => {
  it("places in order of arrival, staged requests first", () => {
    const room = roomWith(waiting("a"), waiting("b"), waiting("s", { isStaged: true }));

    expect(placeInto(room, { any: 9 })).toEqual(["s", "a", "b"]);
    expect(room.size).toBe(0);
  });

  it("tries one of a kind until it finds no room, and others all the same", () => {
    const room = roomWith(
      waiting("a", { kind: "pinned" }),
      waiting("b", { kind: "pinned" }),
      waiting("c"),
      waiting("d"),
    );

    expect(placeInto(room, { any: 1 })).toEqual(["a", "c", "d"]);
    expect(room.size).toBe(3);
    expect(placeInto(room, { any: 9, pinned: 9 })).toEqual(["a", "b", "d"]);
  });

  it("knows which kinds found no room since it last placed", () => {
    const room = roomWith(waiting("a"));
    expect([room.isStuck("any"), room.isStuck("pinned"), room.isIdle]).toEqual([
      true,
      false,
      false,
    ]);

    room.cancel(waiting("a").request.requestId);
    expect([room.isStuck("any"), room.isIdle]).toEqual([true, false]);

    room.place(() => "left");
    expect([room.isStuck("any"), room.isIdle]).toEqual([false, true]);
  });

  it("lets out whose time is over, who is cancelled, and whose Frontend is lost", () => {
    const room = roomWith(
      waiting("a", { timeoutMs: 100 }),
      waiting("b"),
      waiting("c", { frontendGeneration: 2 }),
      waiting("d", { isStaged: true, timeoutMs: 100 }),
    );

    expect(room.expire(99)).toEqual([]);
    expect(room.expire(100).map(({ requestId }) => requestId)).toEqual(["d", "a"]);
    room.dropFrontend(actorId("f-1"), 1);
    expect(room.clear().map(({ requestId }) => requestId)).toEqual(["c"]);
    expect(room.isIdle).toBe(true);
  });

  it("holds each queue to its limit", () => {
    const room = roomWith(...["a", "b", "c", "d"].map((id) => waiting(id)));

    expect(room.enter(waiting("e"))).toMatchObject({ kind: "refused", reason: "full" });
    expect(room.enter(waiting("s", { isStaged: true }))).toEqual({ kind: "queued" });
  });
});
