import { Catalog, WorkerRegistration } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import {
  catalog,
  catalogWorker,
  promptTokens,
  registrationOf,
  workerRegistration,
} from "../src/builders.ts";

describe("builders", () => {
  it("make registrations and catalogs that travel unchanged", () => {
    const worker = workerRegistration({
      id: "w-2",
      workerType: "prefill",
      card: { blockSize: 16 },
    });
    const listing = catalog([
      catalogWorker(worker),
      catalogWorker(workerRegistration(), { state: "lost" }),
    ]);

    expect(WorkerRegistration.decode(WorkerRegistration.encode(worker))).toEqual(worker);
    expect(Catalog.decode(Catalog.encode(listing))).toEqual(listing);
    expect(worker).toMatchObject({ set: "prefill", card: { blockSize: 16, model: "test-model" } });
    expect(listing.models[0]?.sets).toEqual([
      { workerType: "prefill", set: "prefill", live: 1, lost: 0, refused: 0 },
      { workerType: "decode", set: "decode", live: 0, lost: 1, refused: 0 },
    ]);
  });

  it("take a worker's type from its id unless told, and what it needs from its type", () => {
    const workers = [
      registrationOf("p-1"),
      registrationOf("d2", { needs: [], card: { blockSize: 16 } }),
      registrationOf("x", { set: "other" }),
      registrationOf("p-9", { workerType: "decode" }),
    ];

    expect(workers.map(({ id, workerType, set, needs }) => [id, workerType, set, needs])).toEqual([
      ["p-1", "prefill", "prefill", [["decode"]]],
      ["d2", "decode", "decode", []],
      ["x", "aggregated", "other", []],
      ["p-9", "decode", "decode", [["prefill"]]],
    ]);
    expect(workers[1]?.card).toMatchObject({ model: "test-model", blockSize: 16 });
  });

  it("make prompts that depend on length and seed only", () => {
    expect(promptTokens(100, 3)).toEqual(promptTokens(100, 3));
    expect(promptTokens(100, 3)).not.toEqual(promptTokens(100, 4));
    expect(promptTokens(1_000, 1, 50).every((token) => token < 50)).toBe(true);
  });
});
