import { describe, expect, it } from "vitest";
import { ModelDirectory } from "../../src/relay/model-directory.ts";
import { FakeView, type WorkerSpec } from "../support/fake-view.ts";

const prefill: WorkerSpec = { id: "p1", type: "prefill" };
const decode: WorkerSpec = { id: "d1", type: "decode" };
const decodeOnly: WorkerSpec = { ...decode, needs: [] };
const aggregated: WorkerSpec = { id: "a1", type: "aggregated" };

function modeOf(workers: readonly WorkerSpec[]) {
  const model = new ModelDirectory(new FakeView(workers)).find("m");
  return model?.mode ?? model?.why?.code;
}

describe("how a model is served", () => {
  it.each<readonly [readonly WorkerSpec[], string]>([
    [[prefill, decode], "disaggregated"],
    [[prefill, decode, aggregated], "disaggregated"],
    [[aggregated], "aggregated"],
    [[decode, aggregated], "aggregated"],
    [[decodeOnly], "decode-only"],
    [[prefill], "missing_decode"],
    [[decode], "missing_prefill"],
  ])("%#: %j", (workers, mode) => {
    expect(modeOf(workers)).toBe(mode);
  });

  it("follows a change, and is worked out once in between", () => {
    const view = new FakeView([prefill, decode]);
    const directory = new ModelDirectory(view);
    const before = directory.find("m");
    view.lose("p1");

    expect(directory.find("m")).toBe(before);
    directory.changed();

    expect(directory.find("m")).toMatchObject({ mode: null, why: { code: "missing_prefill" } });
  });

  it("knows nothing of a model that nobody offers", () => {
    const directory = new ModelDirectory(new FakeView([aggregated]));

    expect(directory.find("other")).toBeUndefined();
    expect(directory.all().map(({ name }) => name)).toEqual(["m"]);
  });
});
