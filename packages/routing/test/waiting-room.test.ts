import { actorId } from "@baton/protocol";
import { routeDecode } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { type Waiting, WaitingRoom } from "../src/waiting-room.ts";

type Request = ReturnType<typeof routeDecode>;

function waiting(id: string, changes: Partial<Waiting<Request>> & Partial<Request> = {}) {
  const { isStaged = false, kind = "any", boundKind = null, arrivedMs = 0, ...request } = changes;
  return { request: routeDecode(id, request), arrivedMs, isStaged, kind, boundKind };
}

function roomWith(...all: readonly Waiting<Request>[]) {
  const room = new WaitingRoom<Request>(4);
  for (const each of all) room.enter(each);
  return room;
}

/** Places as many as there is room, and answers who was tried. */
function placeInto(room: WaitingRoom<Request>, roomOf: Record<string, number>): string[] {
  const tried: string[] = [];
  room.place((each) => {
    const kind = each.boundKind ?? each.kind;
    const left = roomOf[kind] ?? 0;
    tried.push(each.request.requestId);
    roomOf[kind] = left - 1;
    if (left > 0) return "left";
    room.stick(each);
    return "waits";
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

  it("tries every request that waits for another reason than room", () => {
    const room = roomWith(waiting("a"), waiting("b"));
    const tried: string[] = [];

    room.place(({ request }) => {
      tried.push(request.requestId);
      return "waits";
    });

    expect(tried).toEqual(["a", "b"]);
  });

  it("tries those of bound sessions rank by rank, and none of them where nobody of their kind has room", () => {
    const sessions = [
      waiting("a", { boundKind: "any w-1" }),
      waiting("b", { boundKind: "any w-1" }),
      waiting("c", { boundKind: "any w-2" }),
    ];

    expect(placeInto(roomWith(...sessions), {})).toEqual(["a", "c"]);
    expect(placeInto(roomWith(waiting("z"), ...sessions), {})).toEqual(["z"]);
  });

  it("tries everybody again once it forgets where sessions were", () => {
    const bound = [1, 2].map((n) => waiting(`b-${n}`, { boundKind: "any w-1" }));
    const room = roomWith(...bound);
    placeInto(room, {});

    room.forgetBound();

    expect(placeInto(room, { any: 9 })).toEqual(["b-1", "b-2"]);
  });

  it("knows which kinds found no room since it last placed", () => {
    const room = roomWith(waiting("a"));
    room.stick(waiting("a"));
    const stuck = () => ["any", "pinned"].map((kind) => room.isStuck(waiting("x", { kind })));
    expect([stuck(), room.isIdle]).toEqual([[true, false], false]);

    room.cancel(waiting("a").request.requestId);
    expect([stuck(), room.isIdle]).toEqual([[true, false], false]);

    room.place(() => "left");
    expect([stuck(), room.isIdle]).toEqual([[false, false], true]);
  });

  it("says whether some wait whose KV is staged", () => {
    const room = roomWith(waiting("a"));
    expect(room.hasStaged).toBe(false);

    room.enter(waiting("s", { isStaged: true }));

    expect(room.hasStaged).toBe(true);
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
