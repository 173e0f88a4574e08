import type { Peer } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { pictureRouters } from "../../src/relay/router-picture.ts";

const peer = (id: string) => ({ heartbeat: { id }, heardAtMs: 0 }) as Peer;

function picture(well: readonly string[] | null) {
  const asked: string[] = [];
  const watch = {
    ask: (role: string) => {
      asked.push(role);
    },
    beside: () => well?.map(peer) ?? null,
  };
  return { asked, routers: pictureRouters(watch, () => true) };
}

describe("what a Frontend knows of routers", () => {
  it("names nobody while all are well, or none is", () => {
    expect(picture(null).routers.named("prefill-router")).toBeNull();
    expect(picture([]).routers.named("prefill-router")).toBeNull();
  });

  it("names those that are well in turn while one hangs", () => {
    const { routers } = picture(["r1", "r2"]);

    const named = [1, 2, 3, 4].map(() => routers.named("decode-router"));

    expect(named.toSorted()).toEqual(["r1", "r1", "r2", "r2"]);
    expect(named[0]).not.toBe(named[1]);
  });

  it("has them asked", () => {
    const { asked, routers } = picture(null);

    routers.ask("prefill-router");

    expect(asked).toEqual(["prefill-router"]);
  });
});
