import { testModel } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { describeModel } from "../src/describe-model.ts";
import { catalogWorker } from "./support/builders.ts";

describe("describeModel", () => {
  it("counts the states of each set and is ready when both roles live", () => {
    const model = describeModel(testModel, [
      catalogWorker("p1"),
      catalogWorker("p2", 1, "lost"),
      catalogWorker("d1"),
      catalogWorker("d2", 1, "refused"),
      catalogWorker("d3", 1, "draining"),
    ]);

    expect(model).toEqual({
      model: testModel,
      ready: true,
      why: null,
      sets: [
        { workerType: "decode", set: "decode", live: 1, lost: 0, refused: 1 },
        { workerType: "prefill", set: "prefill", live: 1, lost: 1, refused: 0 },
      ],
    });
  });

  it("says what is missing when a role has no live worker", () => {
    const model = describeModel(testModel, [catalogWorker("d1"), catalogWorker("p1", 1, "lost")]);

    expect(model.ready).toBe(false);
    expect(model.why?.code).toBe("missing_prefill");
  });
});
