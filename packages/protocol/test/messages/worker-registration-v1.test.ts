import { describe, expect, it } from "vitest";
import { WorkerRegistration } from "../../src/index.ts";
import { samples } from "../samples.ts";

const sample = samples.find(({ type }) => type.name === "worker-registration");
const registration = sample?.value as WorkerRegistration;
const withCapacity = (changes: Partial<WorkerRegistration["capacity"]>): WorkerRegistration =>
  WorkerRegistration.decode(
    WorkerRegistration.encode({
      ...registration,
      capacity: { ...registration.capacity, ...changes },
    }),
  );

describe("WorkerRegistration", () => {
  it.each([
    { dpSize: 1 },
    { dpSize: 1_024 },
    { dpStartRank: 0 },
    { dpStartRank: 2 ** 32 - 1 },
    { totalBlocks: 0, maxSequences: 0, maxBatchedTokens: 0 },
  ])("takes a capacity of %o", (changes) => {
    expect(withCapacity(changes).capacity).toMatchObject(changes);
  });

  it.each([
    ["dpSize", 0],
    ["dpSize", -1],
    ["dpSize", 1_000_000_000],
    ["dpStartRank", -1],
    ["dpStartRank", 2 ** 32],
    ["totalBlocks", -1],
    ["maxSequences", -1],
    ["maxBatchedTokens", -1],
  ])("refuses a %s of %d, for which whoever routes would have to keep rows", (field, value) => {
    expect(() => withCapacity({ [field]: value })).toThrow(
      expect.objectContaining({
        code: "malformed_message",
        details: expect.objectContaining({ field: `capacity.${field}` }),
      }),
    );
  });
});
