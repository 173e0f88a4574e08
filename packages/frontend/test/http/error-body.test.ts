import { errorRules, ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { errorAnswer } from "../../src/http/error-body.ts";

const frame = { requestId: "r1", stage: "handoff", overloadStatus: 529 } as const;

describe("an error over HTTP", () => {
  it("has the status and type of its rule, whatever its code", () => {
    for (const [code, rule] of Object.entries(errorRules)) {
      const answer = errorAnswer(new ServingError(code as keyof typeof errorRules), frame);

      expect(answer.status).toBe(rule.status);
      expect(JSON.parse(answer.body).error).toMatchObject({
        code,
        type: rule.type,
        stage: "handoff",
        request_id: "r1",
      });
    }
  });

  it("says when to ask again, where that may help", () => {
    const wait = (code: keyof typeof errorRules) =>
      errorAnswer(new ServingError(code), frame).headers["retry-after"];

    expect(wait("worker_lost")).toBe("1");
    expect(wait("overloaded")).toBe("1");
    expect(wait("rate_limited")).toBe("1");
    expect(wait("deadline_exceeded")).toBeUndefined();
    expect(wait("invalid_request")).toBeUndefined();
  });

  it("tells OpenAI's clients not to ask again where that cannot help", () => {
    const told = (code: keyof typeof errorRules) =>
      errorAnswer(new ServingError(code), frame).headers["x-should-retry"];

    expect(told("internal")).toBe("false");
    expect(told("worker_lost")).toBeUndefined();
    expect(told("handoff_refused")).toBeUndefined();
    expect(told("invalid_request")).toBeUndefined();
  });

  it("cuts short what the client wrote itself", () => {
    const param = "k".repeat(1_000_000);
    const error = new ServingError("unsupported", { param, problem: `${param} is not supported` });

    expect(errorAnswer(error, frame).body.length).toBeLessThan(3_000);
  });

  it("says why a model is not ready, for programs too", () => {
    const error = new ServingError("not_ready", { problem: "no decode", why: "missing_decode" });

    expect(JSON.parse(errorAnswer(error, frame).body).error.why).toEqual({
      code: "missing_decode",
      text: "no decode",
    });
  });
});
