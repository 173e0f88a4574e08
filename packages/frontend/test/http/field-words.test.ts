import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { inWordsOf, sinkInWordsOf } from "../../src/http/field-words.ts";

const errorOf = (param: string) => new ServingError("unsupported", { param, problem: "no" });
const paramFor = (endpoint: "chat" | "generate", param: string) =>
  inWordsOf(endpoint, errorOf(param)).details.param;

describe("the field of an error", () => {
  it("has the name that it has in the body that was sent", () => {
    const params = ["prompt", "n", "max_tokens", "model", "baton.session.id", "x-tenant-id"];

    expect(params.map((param) => paramFor("generate", param))).toEqual([
      "token_ids",
      "sampling_params.n",
      "sampling_params.max_tokens",
      "model",
      "baton.session.id",
      "x-tenant-id",
    ]);
    expect(params.map((param) => paramFor("chat", param))).toEqual(params);
  });

  it("is renamed on its way to the client, with code and words as they were", () => {
    const errors: ServingError[] = [];
    const sink = sinkInWordsOf("generate", {
      began: () => undefined,
      output: () => undefined,
      ended: (end) => void (end.kind === "failed" && errors.push(end.error)),
    });

    sink.ended({ kind: "failed", stage: "preparing", error: errorOf("n") });
    sink.ended({ kind: "failed", stage: "preparing", error: new ServingError("draining") });

    expect(errors.map(({ code, message, details }) => [code, message, details.param])).toEqual([
      ["unsupported", "no", "sampling_params.n"],
      ["draining", new ServingError("draining").message, undefined],
    ]);
  });
});
