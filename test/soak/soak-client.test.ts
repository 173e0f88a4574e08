import { describe, expect, it } from "vitest";
import { endOfAnswer, endOfStream } from "../support/soak/soak-client.ts";

const error = JSON.stringify({
  error: { code: "worker_lost", stage: "handoff", message: "it is gone" },
});
const lost = { kind: "failed", code: "worker_lost", stage: "handoff", message: "it is gone" };
const chunk = 'data: {"choices":[]}\n\n';
const done = "data: [DONE]\n\n";

describe("the end of an answer", () => {
  it("is its status with a body that fits", () => {
    expect(endOfAnswer(200, '{"choices":[]}')).toEqual({ kind: "completed" });
    expect(endOfAnswer(503, error)).toEqual(lost);
  });

  it("is broken without choices or without an error", () => {
    expect(endOfAnswer(200, "")).toMatchObject({ kind: "broken" });
    expect(endOfAnswer(502, "<html>")).toMatchObject({ kind: "broken" });
    expect(endOfAnswer(500, "{}")).toMatchObject({ kind: "broken" });
  });
});

describe("the end of a stream", () => {
  it("is one [DONE] or one error, as the last event", () => {
    expect(endOfStream(chunk + chunk + done)).toEqual({ kind: "completed" });
    expect(endOfStream(`${chunk}event: error\ndata: ${error}\n\n`)).toEqual(lost);
  });

  it.each([
    ["nothing", ""],
    ["no end", chunk],
    ["two ends", chunk + done + done],
    ["an error and an end", `event: error\ndata: ${error}\n\n${done}`],
    ["something behind the end", done + chunk],
  ])("is broken with %s", (_what, text) => {
    expect(endOfStream(text)).toMatchObject({ kind: "broken" });
  });
});
