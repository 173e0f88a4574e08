import { bench, describe } from "vitest";
import { endOf, entryOf, RelayRig, type Submitted } from "../../test/support/relay-rig.ts";

const rig = new RelayRig();
const batch = 64;

/** Both sides of the in-process bus and the virtual clock are in the figure: the Frontend's own share is smaller. */
describe("requests through the relay on the in-process bus", () => {
  bench(`${batch} requests, prefill to last token`, async () => {
    rig.routedPrefills.length = 0;
    rig.routedDecodes.length = 0;
    const all: Submitted[] = Array.from({ length: batch }, () => rig.submit());
    await rig.settle();
    for (const one of all) rig.prefilled(one);
    await rig.settle();
    rig.frame(
      "d1",
      all.map((one) => entryOf(one, "Hello", 0, endOf("stop"))),
    );
    await rig.settle();
  });
});
