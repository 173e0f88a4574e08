import { requestId, ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { Admission } from "../../../src/engines/llama/admission.ts";
import { BlockStore } from "../../../src/engines/llama/block-store.ts";
import { KvHoldings } from "../../../src/engines/llama/kv-holdings.ts";
import { LlamaRequest } from "../../../src/engines/llama/llama-request.ts";
import type { Sampling } from "../../../src/engines/llama/sampling.ts";
import { SlotTable } from "../../../src/engines/llama/slot-table.ts";
import { chainOf } from "./chains.ts";
import { job } from "./llama-harness.ts";

function setUp(slotCount: number, capacity: number) {
  const holdings = new KvHoldings();
  const slots = new SlotTable(slotCount, holdings);
  const admission = new Admission(slots, new BlockStore(capacity, holdings));
  const granted: string[] = [];
  const enter = (name: string, blocks: number) => {
    const work = { ...job([1]), requestId: requestId(name) };
    const request = new LlamaRequest("prefill", work, chainOf([1]), {} as Sampling);
    const entered = admission.enter(request, blocks, () => slots.findOldest());
    entered.then(
      () => granted.push(name),
      () => granted.push(`${name} rejected`),
    );
    return request;
  };
  return { admission, granted, enter };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("Admission", () => {
  it("lets in as many as there are sequences, in order of arrival", async () => {
    const { admission, granted, enter } = setUp(2, 100);
    const first = enter("a", 1);
    enter("b", 1);
    enter("c", 1);
    enter("d", 1);
    await settled();
    expect(granted).toEqual(["a", "b"]);
    expect(admission.waiting).toBe(2);
    admission.leave(first);
    await settled();
    expect(granted).toEqual(["a", "b", "c"]);
  });

  it("makes a request wait for room in the store, and those behind it", async () => {
    const { admission, granted, enter } = setUp(3, 10);
    const first = enter("a", 8);
    enter("b", 5);
    enter("c", 1);
    await settled();
    expect(granted).toEqual(["a"]);
    admission.leaveSlot(first);
    await settled();
    expect(granted).toEqual(["a"]);
    admission.leaveReservation(first);
    await settled();
    expect(granted).toEqual(["a", "b", "c"]);
  });

  it("forgets a request that ends while it waits", async () => {
    const { admission, granted, enter } = setUp(1, 10);
    const first = enter("a", 1);
    const second = enter("b", 1);
    enter("c", 1);
    second.end(new ServingError("cancelled"));
    admission.pump();
    admission.leave(first);
    await settled();
    expect(granted).toEqual(["a", "b rejected", "c"]);
  });

  it("takes back a grant only once", () => {
    const { admission, enter } = setUp(1, 10);
    const first = enter("a", 7);
    admission.leave(first);
    admission.leave(first);
    const second = enter("b", 10);
    expect(second.reserved).toBe(10);
    expect(second.slot?.busy).toBe(true);
  });
});
