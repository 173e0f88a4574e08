import { describe, expect, it } from "vitest";
import { CatalogFollower } from "../src/catalog-follower.ts";
import { catalogWith, heartbeatWith } from "./support/builders.ts";

const beatMs = 100;
const catalog = (epoch: number, revision: number, complete = true) =>
  catalogWith([], { epoch, revision, complete });
const beat = (epoch: number, revision: number, complete = true, id = "disc") =>
  heartbeatWith(id, {
    role: "discovery",
    generation: epoch,
    intervalMs: beatMs,
    catalog: { epoch, revision, complete },
  });

describe("CatalogFollower", () => {
  it("takes an incomplete catalog only while it has none that is complete", () => {
    const follower = new CatalogFollower(beatMs);

    expect(follower.offer(catalog(1, 1, false), 0)).toBe(true);
    expect(follower.synced).toBe(false);
    expect(follower.offer(catalog(1, 2, true), 10)).toBe(true);
    expect(follower.synced).toBe(true);
    expect(follower.offer(catalog(7, 1, false), 10_000)).toBe(false);
    expect(follower.held?.epoch).toBe(1);
  });

  it("drops a revision that it has already passed", () => {
    const follower = new CatalogFollower(beatMs);
    follower.offer(catalog(1, 5), 0);

    expect(follower.offer(catalog(1, 5), 1)).toBe(false);
    expect(follower.offer(catalog(1, 4), 1)).toBe(false);
    expect(follower.offer(catalog(1, 6), 1)).toBe(true);
  });

  it("asks when a heartbeat is ahead, and not when it is level", () => {
    const follower = new CatalogFollower(beatMs);
    expect(follower.hear(beat(1, 1), 0)).toBe(true);
    follower.offer(catalog(1, 1), 0);

    expect(follower.hear(beat(1, 1), 10)).toBe(false);
    expect(follower.hear(beat(1, 2), 20)).toBe(true);
    expect(follower.hear({ ...beat(1, 3), catalog: null }, 30)).toBe(false);
  });

  it("asks when a heartbeat is behind, and takes what comes: a revision that Discovery does not know was made up", () => {
    const follower = new CatalogFollower(beatMs);
    follower.offer(catalog(1, 5), 0);
    follower.offer(catalog(1, 1_005), 1);
    expect(follower.offer(catalog(1, 6), 2)).toBe(false);

    expect(follower.hear(beat(1, 6), 3)).toBe(true);
    expect(follower.offer(catalog(1, 6), 4)).toBe(true);
    expect(follower.hear(beat(1, 6), 5)).toBe(false);
    expect(follower.synced).toBe(true);
  });

  it("stays with the Discovery that it follows while another one speaks too", () => {
    const follower = new CatalogFollower(beatMs);
    follower.offer(catalog(1, 1), 0);

    for (let nowMs = 0; nowMs < 2_000; nowMs += beatMs) {
      follower.hear(beat(1, 1, true, "one"), nowMs);
      expect(follower.hear(beat(2, 9, true, "two"), nowMs)).toBe(false);
      expect(follower.offer(catalog(2, 9), nowMs)).toBe(false);
    }
  });

  it("changes over when its Discovery has been silent for two and a half intervals", () => {
    const follower = new CatalogFollower(beatMs);
    follower.offer(catalog(5, 1), 0);
    follower.hear(beat(5, 1, true, "one"), 100);

    expect(follower.offer(catalog(3, 1), 350)).toBe(false);
    expect(follower.hear(beat(3, 1, true, "two"), 351)).toBe(true);
    expect(follower.offer(catalog(3, 1), 351)).toBe(true);
  });

  it("changes over at once when its Discovery says goodbye or starts again under its id", () => {
    const left = new CatalogFollower(beatMs);
    left.offer(catalog(5, 1), 0);
    left.hear(beat(5, 1), 10);
    left.hear({ ...beat(5, 1), state: "stopped" }, 20);
    expect(left.offer(catalog(6, 1), 20)).toBe(true);

    const restarted = new CatalogFollower(beatMs);
    restarted.offer(catalog(5, 1), 0);
    restarted.hear(beat(5, 1), 10);
    expect(restarted.hear(beat(6, 1, false), 20)).toBe(false);
    expect(restarted.hear(beat(6, 2), 30)).toBe(true);
  });

  it("blames no silence on its Discovery while nothing could be heard", () => {
    const follower = new CatalogFollower(beatMs);
    follower.offer(catalog(5, 1), 0);
    follower.pardon(10_000);

    expect(follower.offer(catalog(6, 1), 9_999)).toBe(false);
    expect(follower.offer(catalog(6, 1), 10_001)).toBe(true);
  });
});
