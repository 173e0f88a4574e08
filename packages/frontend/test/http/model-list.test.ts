import { describe, expect, it } from "vitest";
import { modelEntry, modelList } from "../../src/http/model-list.ts";
import { ModelDirectory } from "../../src/relay/model-directory.ts";
import { FakeView } from "../support/fake-view.ts";

const directory = new ModelDirectory(
  new FakeView([
    { id: "a1", type: "aggregated", model: "ready", generation: 5_500 },
    { id: "p1", type: "prefill", model: "half" },
  ]),
);

describe("the list of models", () => {
  it("has every model, with why it is not ready", () => {
    expect(JSON.parse(modelList(directory))).toEqual({
      object: "list",
      data: [
        {
          id: "ready",
          object: "model",
          created: 5,
          owned_by: "baton",
          max_model_len: 64,
          ready: true,
          mode: "aggregated",
          why: null,
        },
        expect.objectContaining({
          id: "half",
          ready: false,
          mode: null,
          why: { code: "missing_decode", text: expect.any(String) },
        }),
      ],
    });
  });

  it("says of a model whose tokenizer is not there that it is not ready", () => {
    const why = { code: "activating", text: "not loaded" } as const;
    const unread = new ModelDirectory(new FakeView([{ id: "a1", type: "aggregated" }]), () => why);

    expect(JSON.parse(modelEntry(unread, "m"))).toMatchObject({
      ready: false,
      mode: "aggregated",
      why,
    });
  });

  it("gives one by name, and says what there is instead of an unknown one", () => {
    expect(JSON.parse(modelEntry(directory, "half")).id).toBe("half");
    expect(() => modelEntry(directory, "x")).toThrow(
      "the model 'x' does not exist; served here: ready, half",
    );
  });
});
