import { describe, expect, it } from "vitest";
import { Deferred } from "../../../src/engines/llama/deferred.ts";

describe("Deferred", () => {
  it("is settled from outside, once", async () => {
    const deferred = new Deferred<number>();
    deferred.resolve(1);
    deferred.reject(new Error("late"));
    expect(await deferred.promise).toBe(1);
  });

  it("may be rejected while nobody waits", async () => {
    const deferred = new Deferred<number>();
    deferred.reject(new Error("gone"));
    await new Promise((resolve) => setImmediate(resolve));
    await expect(deferred.promise).rejects.toThrow("gone");
  });
});
