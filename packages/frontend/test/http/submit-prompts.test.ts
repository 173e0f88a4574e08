import { requestId, ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import type { AnswerEnd, AnswerSink } from "../../src/http/answers.ts";
import { submitPrompts, withoutOutput } from "../../src/http/submit-prompts.ts";
import type { ServingRequest } from "../../src/request/serving-request.ts";
import { bodyFrame, logprobOf } from "../support/bodies.ts";
import { deltaOf, FakePort, summary } from "../support/fake-port.ts";

function requestsOf(count: number, n = 2): ServingRequest[] {
  return Array.from({ length: count }, (_, prompt) => ({
    ...bodyFrame,
    requestId: requestId(`r${prompt}`),
    model: "m",
    prompt: { kind: "text", text: `${prompt}` },
    output: { maxTokens: 1, n },
    stop: [],
  }));
}

function recordingSink() {
  const heard: string[] = [];
  const ends: AnswerEnd[] = [];
  const sink: AnswerSink = {
    began: (prompt, { promptTokens }) => heard.push(`${prompt} began ${promptTokens}`),
    output: (deltas) => heard.push(...deltas.map(({ choice, text }) => `${choice} ${text}`)),
    ended: (end) => ends.push(end),
  };
  return { sink, heard, ends };
}

const report = { promptTokens: 3, text: null, logprobs: null };
const failed = {
  kind: "failed",
  summary: null,
  stage: "received",
  error: new ServingError("overloaded"),
} as const;

describe("several prompts behind one answer", () => {
  it("are numbered through, and interleave as they come", () => {
    const port = new FakePort();
    const { sink, heard, ends } = recordingSink();
    submitPrompts(port, requestsOf(2), sink);

    port.sinks[1]?.began?.(report);
    port.sinks[1]?.output([deltaOf("c"), deltaOf("d", { choice: 1 })]);
    port.sinks[0]?.output([deltaOf("a"), deltaOf("b", { choice: 1 })]);
    port.sinks[1]?.ended({ kind: "completed", summary: { ...summary, promptTokens: 1 } });
    expect(ends).toEqual([]);
    port.sinks[0]?.ended({ kind: "completed", summary });

    expect(heard).toEqual(["1 began 3", "2 c", "3 d", "0 a", "1 b"]);
    expect(ends).toEqual([
      { kind: "completed", summaries: [summary, { ...summary, promptTokens: 1 }] },
    ]);
  });

  it("fail together and once, and nothing is heard of the others any more", () => {
    const port = new FakePort();
    const { sink, heard, ends } = recordingSink();
    submitPrompts(port, requestsOf(3), sink);
    const [first, second, third] = port.sinks;

    first?.ended({ kind: "completed", summary });
    second?.ended(failed);
    third?.output([deltaOf("late")]);

    expect(ends).toEqual([failed]);
    expect(heard).toEqual([]);
    expect([port.failed, port.cancelled]).toEqual([["overloaded"], 0]);
  });

  it("fail together also where one is submitted while another fails", () => {
    const port = new FakePort();
    port.onSubmit = (sink, { requestId: id }) => {
      if (id === "r1") sink.ended(failed);
    };
    const { sink, ends } = recordingSink();

    submitPrompts(port, requestsOf(3), sink);

    expect(ends).toEqual([failed]);
    expect([port.requests.length, port.failed, port.cancelled]).toEqual([2, ["overloaded"], 0]);
  });

  it("wait for each other before they go anywhere; one alone waits for nobody", () => {
    const port = new FakePort();

    submitPrompts(port, requestsOf(2), recordingSink().sink);
    submitPrompts(port, requestsOf(1), recordingSink().sink);

    const [first, second, alone] = port.requests.map(({ group }) => group);
    expect(first).toBeDefined();
    expect(second).toBe(first);
    expect(alone).toBeUndefined();
  });

  it("are not asked for once one was refused", () => {
    const port = new FakePort();
    port.onSubmit = (sink) => sink.ended(failed);
    const { sink, ends } = recordingSink();

    submitPrompts(port, requestsOf(5), sink);

    expect(port.requests).toHaveLength(1);
    expect(ends).toEqual([failed]);
  });

  it("are all cancelled when their client leaves, which is told once", () => {
    const port = new FakePort();
    const { sink, ends } = recordingSink();

    submitPrompts(port, requestsOf(3), sink).cancel();

    expect(port.cancelled).toBe(3);
    expect(ends).toEqual([{ kind: "cancelled" }]);
  });
});

it("leaves out what was generated where the prompt is all that is wanted", () => {
  const outputs: unknown[] = [];
  const ends: AnswerEnd[] = [];
  const sink = withoutOutput({
    began: () => undefined,
    output: (deltas) => outputs.push(...deltas),
    ended: (end) => ends.push(end),
  });

  sink.output([
    deltaOf("x", { logprobs: [logprobOf("x")], outputTokens: 1, finishReason: "stop" }),
  ]);
  sink.ended({ kind: "completed", summaries: [summary] });

  expect(outputs).toEqual([deltaOf("", { logprobs: [], finishReason: "length" })]);
  expect(ends).toEqual([{ kind: "completed", summaries: [{ ...summary, outputTokens: 0 }] }]);
});
