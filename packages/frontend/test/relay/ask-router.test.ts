import { actorId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { RelayRig } from "../support/relay-rig.ts";

describe("asking a router", () => {
  it("asks the group while all are well", async () => {
    const rig = new RelayRig();
    rig.submit();
    await rig.settle();

    expect(rig.routedPrefills).toHaveLength(1);
    expect(rig.routedByName).toEqual([]);
  });

  it("asks one by name while another hangs, each leg by itself", async () => {
    const rig = new RelayRig();
    rig.hearNamedRouter("pr2");
    const one = rig.submit();
    await rig.settle();
    rig.dispatched(one, "prefill", "p1");
    await rig.settle();
    rig.prefilled(one);
    await rig.settle();

    expect([rig.routedPrefills.length, rig.routedByName.length]).toEqual([0, 1]);
    expect(rig.routedDecodes).toHaveLength(1);
  });

  it("asks the group once more when the one that was named serves nothing just now", async () => {
    const rig = new RelayRig();
    rig.namedRouters.set("prefill-router", actorId("pr3"));
    const one = rig.submit();
    await rig.settle(10);

    expect(rig.routedPrefills.map(({ requestId }) => requestId)).toEqual([one.id]);
  });

  it("says after a tenth of a second, and then time and again, that somebody waits", async () => {
    const rig = new RelayRig();
    rig.submit();

    await rig.settle(90);
    expect(rig.askedRouters).toEqual([]);
    await rig.settle(260);

    expect(rig.askedRouters.length).toBeGreaterThanOrEqual(2);
  });
});
