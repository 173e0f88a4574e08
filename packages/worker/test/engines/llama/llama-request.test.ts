import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { checkPartBytes, LlamaRequest } from "../../../src/engines/llama/llama-request.ts";
import type { Sampling } from "../../../src/engines/llama/sampling.ts";
import { chainOf } from "./chains.ts";
import { job } from "./llama-harness.ts";

function requestOf(kind: "prefill" | "import"): LlamaRequest {
  const work = job([1, 2]);
  const importJob = kind === "import" ? { ...work, firstTokens: [] } : undefined;
  return new LlamaRequest(kind, work, chainOf([1, 2]), {} as Sampling, importJob);
}

const cancelled = new ServingError("cancelled");

describe("LlamaRequest", () => {
  it("breaks off what it waits for when it ends", async () => {
    const request = requestOf("prefill");
    const waiting = request.orEnd(new Promise(() => {}));
    request.end(cancelled);
    await expect(waiting).rejects.toBe(cancelled);
    expect(() => request.check()).toThrow(cancelled);
    await expect(request.orEnd(Promise.resolve(1))).rejects.toBe(cancelled);
  });

  it("waits as usual before that", async () => {
    const request = requestOf("prefill");
    request.check();
    expect(await request.orEnd(Promise.resolve(5))).toBe(5);
    expect(request.isEnded).toBe(false);
  });

  it("does not take a result that came together with its end", async () => {
    const request = requestOf("prefill");
    const waiting = request.orEnd(Promise.resolve(5));
    request.end(cancelled);
    await expect(waiting).rejects.toBe(cancelled);
  });

  it("keeps its first end, and rejects the plan of an import", async () => {
    const request = requestOf("import");
    request.end(cancelled);
    request.end(new ServingError("engine_lost"));
    await expect(request.import?.plan.promise).rejects.toBe(cancelled);
    expect(() => request.check()).toThrow(cancelled);
  });
});

describe("checkPartBytes", () => {
  it("refuses a part of another size", () => {
    checkPartBytes(0, 5, 5);
    expect(() => checkPartBytes("tail", 4, 5)).toThrow(/part tail has 4 bytes instead of 5/);
  });
});
