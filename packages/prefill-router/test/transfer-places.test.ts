import { workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { TransferPlaces } from "../src/transfer-places.ts";
import { prefersRack, staysInRack, viewOf } from "./support/worker-views.ts";

describe("transfer places", () => {
  it("are anywhere without a rule", () => {
    const places = new TransferPlaces([viewOf("p-1", { topology: { rack: "r1" } })]);

    expect(places.of(workerId("p-1"))).toEqual({ kind: "known", constraints: null });
    expect(places.areRestricted).toBe(false);
  });

  it("name the taint that a decode worker must have, one object for all workers of a place", () => {
    const places = new TransferPlaces([
      viewOf("p-1", { ...staysInRack, topology: { rack: "r1" } }),
      viewOf("p-2", { ...staysInRack, topology: { rack: "r1" } }),
    ]);

    const place = places.of(workerId("p-1"));
    expect(place).toEqual({
      kind: "known",
      constraints: { requiredTaints: ["baton.topology/rack=r1"], preferredTaints: {} },
    });
    expect(places.of(workerId("p-2"))).toBe(place);
    expect(places.areRestricted).toBe(true);
  });

  it("do not restrict by a preference", () => {
    const places = new TransferPlaces([
      viewOf("p-1", { ...prefersRack, topology: { rack: "r1" } }),
    ]);

    expect(places.of(workerId("p-1"))).toMatchObject({
      constraints: { preferredTaints: { "baton.topology/rack=r1": 0.5 } },
    });
    expect(places.areRestricted).toBe(false);
  });

  it("are anywhere for a worker that is not known if none must stay in its domain", () => {
    const places = new TransferPlaces([
      viewOf("p-1", { ...prefersRack, topology: { rack: "r1" } }),
    ]);

    expect(places.of(workerId("p-9"))).toEqual({ kind: "known", constraints: null });
  });

  it("are faulty where a worker has no place in its own domain, or is not known beside one that must stay", () => {
    const places = new TransferPlaces([viewOf("p-1", staysInRack)]);

    expect(places.of(workerId("p-1"))).toMatchObject({ kind: "faulty", text: /no place/ });
    expect(places.of(workerId("p-9"))).toMatchObject({ kind: "faulty" });
    expect(places.areRestricted).toBe(true);
  });
});
