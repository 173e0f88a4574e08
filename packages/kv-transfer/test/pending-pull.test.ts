import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { PendingPull } from "../src/pending-pull.ts";
import { createDesk, rejectionOf, sourceOf, stageOn } from "./support.ts";

const ticket = stageOn(createDesk(new VirtualClock()), "h:1", sourceOf([1]), 1);
const create = () => new PendingPull({ ticket, parts: [], onPart: () => undefined });

describe("PendingPull", () => {
  it("settles once", async () => {
    const pull = create();
    pull.succeed();
    pull.fail(new Error("too late"));
    pull.cancel();

    await pull.done;
    expect(pull.settled).toBe(true);
  });

  it("rejects before whoever carries it is told to stop", async () => {
    const pull = create();
    const told: boolean[] = [];
    pull.onCancel = () => told.push(pull.settled);
    pull.cancel();
    pull.cancel();

    expect((await rejectionOf(pull.done)).code).toBe("cancelled");
    expect(told).toEqual([true]);
  });
});
