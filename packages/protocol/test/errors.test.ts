import { describe, expect, it } from "vitest";
import { errorRules, fromWireError, ServingError, toWireError } from "../src/index.ts";

describe("ServingError", () => {
  it("keeps code, message and details over the wire", () => {
    const error = new ServingError("worker_lost", { workerId: "w-1", problem: "gone" });

    const read = fromWireError(JSON.parse(JSON.stringify(toWireError(error))));

    expect(read).toMatchObject({
      code: "worker_lost",
      message: "gone",
      details: { workerId: "w-1" },
    });
  });

  it("keeps an unknown code as a fact of an internal error", () => {
    expect(fromWireError(["from_the_future", "hm", {}])).toMatchObject({
      code: "internal",
      details: { code: "from_the_future" },
    });
  });

  it("calls a wire form of another shape malformed", () => {
    expect(fromWireError("nonsense").code).toBe("malformed_message");
  });

  it("takes anything caught, and keeps the cause", () => {
    const cause = new TypeError("boom");

    expect(ServingError.from(cause)).toMatchObject({ code: "internal", message: "boom", cause });
    expect(ServingError.from("text", "engine_failed")).toMatchObject({ code: "engine_failed" });
  });

  it("says the code's own meaning when nothing else is known", () => {
    expect(new ServingError("not_ready").message).toBe(errorRules.not_ready.meaning);
  });

  it.each([
    ["worker_lost", { workerId: "decode-0" }, "The worker that ran the request is gone: decode-0."],
    ["router_lost", { routerId: "pr-1" }, `${errorRules.router_lost.meaning.slice(0, -1)}: pr-1.`],
    ["worker_lost", {}, errorRules.worker_lost.meaning],
    ["not_ready", { workerId: "decode-0" }, errorRules.not_ready.meaning],
  ] as const)("names who is lost: %s of %j", (code, details, message) => {
    expect(new ServingError(code, details).message).toBe(message);
  });
});
