import { decodeTokenizerArtifact, encodeTokenizerArtifact } from "@baton/text";
import { describe, expect, it } from "vitest";
import { loadTokenizer } from "../src/engines/mock/tokenizer-source.ts";
import { needsOf, readArtifact, setOf } from "../src/registration.ts";
import { workerConfig } from "./support/worker-cluster.ts";

describe("the facts of an artifact", () => {
  it("say that a model with a chat template chats", () => {
    const facts = readArtifact(loadTokenizer().artifact);

    expect(facts.modelType).toEqual(["chat", "completions"]);
    expect(facts.checksum).toMatch(/^[0-9a-f]{64}$/);
  });

  it("say that a model without one completes only", () => {
    const artifact = decodeTokenizerArtifact(loadTokenizer().artifact);
    const bytes = encodeTokenizerArtifact({ ...artifact, chatTemplate: null });

    expect(readArtifact(bytes).modelType).toEqual(["completions"]);
  });
});

describe("a worker's place among others", () => {
  it("is the set that it was given, else its type", () => {
    expect(setOf(workerConfig({ "worker-type": "decode" }))).toBe("decode");
    expect(setOf(workerConfig({ "worker-type": "decode", set: "fast" }))).toBe("fast");
  });

  it("needs the other half, unless it serves alone", () => {
    expect(needsOf(workerConfig({ "worker-type": "prefill" }))).toEqual([["decode"]]);
    expect(needsOf(workerConfig({ "worker-type": "decode" }))).toEqual([["prefill"]]);
    expect(needsOf(workerConfig({ "worker-type": "decode", "decode-only": true }))).toEqual([]);
    expect(needsOf(workerConfig({ "worker-type": "aggregated" }))).toEqual([]);
  });
});
