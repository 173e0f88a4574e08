import { workerId } from "@baton/protocol";
import { testModel } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { ClusterPicture } from "../src/cluster-picture.ts";
import { catalogWith, catalogWorker, heartbeatWith, loadWith } from "./support/builders.ts";

const graceMs = 900;

function pictureWith() {
  const lost: string[] = [];
  const counts = { changes: 0 };
  const picture = new ClusterPicture(graceMs, {
    onChange: () => {
      counts.changes += 1;
    },
    onWorkerLost: ({ id, generation, state }, why) =>
      lost.push(`${id}/${generation} ${state} ${why}`),
  });
  return { picture, lost, counts };
}

const states = (picture: ClusterPicture) =>
  Object.fromEntries((picture.model(testModel)?.workers ?? []).map(({ id, state }) => [id, state]));
const pair = [catalogWorker("p1"), catalogWorker("d1")];

describe("ClusterPicture", () => {
  it("shows listed workers as live before they are heard, for a lease", () => {
    const { picture, lost } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    picture.hear(heartbeatWith("p1"));

    expect(picture.sweep(graceMs - 1)).toBe(true);
    expect(states(picture)).toEqual({ p1: "live", d1: "live" });
    expect(picture.sweep(graceMs)).toBe(false);
    expect(states(picture)).toEqual({ p1: "live", d1: "lost" });
    expect(lost).toEqual(["d1/1 lost silent"]);
  });

  it("gives an unheard worker more time after a pardon", () => {
    const { picture } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    picture.pardon(5_000);

    picture.sweep(4_999);

    expect(states(picture)).toEqual({ p1: "live", d1: "live" });
  });

  it("sees a lost worker without Discovery, and takes it out of readiness", () => {
    const { picture, lost } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    picture.hear(heartbeatWith("p1"));
    const before = picture.model(testModel);

    picture.lose("p1", 1, "no_responders");

    const after = picture.model(testModel);
    expect(before?.catalog.ready).toBe(true);
    expect(after?.catalog).toMatchObject({ ready: false, why: { code: "missing_prefill" } });
    expect(after?.catalog.sets).toContainEqual({
      workerType: "prefill",
      set: "prefill",
      live: 0,
      lost: 1,
      refused: 0,
    });
    expect(lost).toEqual(["p1/1 lost no_responders"]);
  });

  it("tells a loss once, and again only after the worker came back", () => {
    const { picture, lost } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    picture.hear(heartbeatWith("p1"));

    picture.lose("p1", 1, "silent");
    picture.lose("p1", 1, "silent");
    picture.takeCatalog(catalogWith([catalogWorker("p1", 1, "lost"), catalogWorker("d1")]), 1);
    picture.hear(heartbeatWith("p1"));
    expect(states(picture)).toMatchObject({ p1: "live" });
    picture.lose("p1", 1, "silent");

    expect(lost).toEqual(["p1/1 lost silent", "p1/1 lost silent"]);
  });

  it("believes its own ears when Discovery takes a worker for lost", () => {
    const { picture, lost } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    picture.hear(heartbeatWith("p1"));

    picture.takeCatalog(
      catalogWith([catalogWorker("p1", 1, "lost"), catalogWorker("d1", 1, "lost")]),
      10,
    );

    expect(states(picture)).toEqual({ p1: "live", d1: "lost" });
    expect(lost).toEqual(["d1/1 lost reported"]);
  });

  it("replaces a generation, tells the loss of the old one, and forgets its load", () => {
    const { picture, lost } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    picture.hear(heartbeatWith("p1"));
    picture.report(loadWith("p1"));

    picture.takeCatalog(catalogWith([catalogWorker("p1", 2), catalogWorker("d1")]), 10);

    expect(lost).toEqual(["p1/1 lost replaced"]);
    expect(picture.worker(workerId("p1"))).toMatchObject({
      generation: 2,
      state: "live",
      load: null,
    });
    picture.lose("p1", 1, "silent");
    expect(states(picture)).toMatchObject({ p1: "live" });
  });

  it("gives up a generation when a later one is heard before it is listed", () => {
    const { picture, lost } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    picture.hear(heartbeatWith("p1"));

    picture.hear(heartbeatWith("p1", { generation: 2 }));
    picture.lose("p1", 1, "replaced");
    expect(states(picture)).toMatchObject({ p1: "lost" });
    picture.takeCatalog(catalogWith([catalogWorker("p1", 2), catalogWorker("d1")]), 10);
    picture.lose("p1", 2, "silent");

    expect(lost).toEqual(["p1/1 lost replaced", "p1/2 lost silent"]);
  });

  it("takes no work to a worker that drains by heartbeat, by report or by catalog", () => {
    const { picture } = pictureWith();
    const workers = ["d1", "d2", "d3"].map((id) => catalogWorker(id));
    picture.takeCatalog(catalogWith(workers), 0);

    picture.hear(heartbeatWith("d1", { state: "draining" }));
    picture.report(loadWith("d2", { accepting: false }));
    picture.takeCatalog(
      catalogWith([...workers.slice(0, 2), catalogWorker("d3", 1, "draining")]),
      1,
    );
    expect(states(picture)).toEqual({ d1: "draining", d2: "draining", d3: "draining" });

    picture.report(loadWith("d2", { sequence: 2 }));
    expect(states(picture)).toMatchObject({ d2: "live" });
  });

  it("drops load reports of other generations, late ones, and those of lost or unknown workers", () => {
    const { picture, counts } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    const changesBefore = counts.changes;

    expect(picture.report(loadWith("p1", { sequence: 4, activeBlocks: 7 }))).toBe(true);
    expect(picture.report(loadWith("p1", { sequence: 4 }))).toBe(false);
    expect(picture.report(loadWith("p1", { generation: 2, sequence: 9 }))).toBe(false);
    expect(picture.report(loadWith("x1"))).toBe(false);

    expect(picture.worker(workerId("p1"))?.load?.activeBlocks).toBe(7);
    expect(counts.changes).toBe(changesBefore);
    picture.lose("p1", 1, "silent");
    expect(picture.report(loadWith("p1", { sequence: 5 }))).toBe(false);
  });

  it("keeps a worker that the catalog dropped until it is lost, out of its model", () => {
    const { picture, lost } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    picture.hear(heartbeatWith("p1"));

    picture.takeCatalog(catalogWith([catalogWorker("d1")]), 1);

    expect(states(picture)).toEqual({ d1: "live" });
    expect(picture.worker(workerId("p1"))?.state).toBe("draining");
    picture.lose("p1", 1, "stopped");
    expect(picture.worker(workerId("p1"))).toBeUndefined();
    expect(lost).toEqual(["p1/1 lost stopped"]);
  });

  it("tells the loss of a worker that is dropped without ever having been heard", () => {
    const { picture, lost } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);

    picture.takeCatalog(catalogWith([catalogWorker("d1")]), 1);

    expect(lost).toEqual(["p1/1 lost delisted"]);
    expect(picture.worker(workerId("p1"))).toBeUndefined();
  });

  it("takes nobody for gone whom an incomplete catalog does not list yet", () => {
    const { lost, picture } = pictureWith();
    const incomplete = { complete: false };
    picture.takeCatalog(catalogWith(pair, incomplete), 0);
    picture.takeCatalog(catalogWith([catalogWorker("d1")], incomplete), 1);

    expect(lost).toEqual([]);
    picture.takeCatalog(catalogWith(pair), 2);
    expect(states(picture)).toEqual({ p1: "live", d1: "live" });
    picture.takeCatalog(catalogWith([catalogWorker("d1")]), 3);
    expect(lost).toEqual(["p1/1 lost delisted"]);
  });

  it("keeps refused workers out, but shows them in the counts", () => {
    const { picture } = pictureWith();
    picture.takeCatalog(catalogWith([...pair, catalogWorker("d2", 1, "refused")]), 0);
    picture.hear(heartbeatWith("p1", { state: "draining" }));

    expect(states(picture)).toEqual({ p1: "draining", d1: "live" });
    expect(picture.model(testModel)?.catalog.sets[0]).toMatchObject({ refused: 1 });
    expect(picture.worker(workerId("d2"))).toBeUndefined();
  });

  it("gives the same view until something changes, and knows no other models", () => {
    const { picture } = pictureWith();
    picture.takeCatalog(catalogWith(pair), 0);
    picture.hear(heartbeatWith("p1"));
    const view = picture.model(testModel);

    picture.report(loadWith("p1"));
    picture.hear(heartbeatWith("p1"));
    expect(picture.model(testModel)).toBe(view);
    expect(picture.models()).toEqual([view]);
    expect(picture.model("other")).toBeUndefined();

    picture.lose("p1", 1, "silent");
    expect(picture.model(testModel)).not.toBe(view);
    expect(picture.models()[0]?.catalog.ready).toBe(false);
  });
});
