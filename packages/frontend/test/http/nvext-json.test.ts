import { describe, expect, it } from "vitest";
import { answerBody, StreamJson } from "../../src/http/answer-json.ts";
import { nvextObject } from "../../src/http/nvext-json.ts";
import type { RequestSummary } from "../../src/request/request-sink.ts";
import { eventsOf } from "../support/api-rig.ts";
import { chatFrame, plainWish } from "../support/bodies.ts";
import { summary } from "../support/fake-port.ts";

const relayed: RequestSummary = {
  ...summary,
  timingMs: {
    received: 1,
    preparing: 2,
    "prefill.queued": 4,
    "prefill.running": 8,
    "decode.routing": 16,
    handoff: 32,
    "decode.streaming": 64,
  },
};

describe("the nvext object of an answer", () => {
  it("is there only if something of it was asked for", () => {
    expect(nvextObject(summary, plainWish)).toBeNull();
  });

  it("names the workers and ranks of both legs", () => {
    expect(nvextObject(summary, { ...plainWish, includeWorkerIds: true })).toEqual({
      worker_id: {
        prefill_worker_id: "p1",
        prefill_dp_rank: 0,
        decode_worker_id: "d1",
        decode_dp_rank: 1,
      },
    });
  });

  it("names a worker that did both halves twice", () => {
    const alone: RequestSummary = {
      ...summary,
      mode: "aggregated",
      prefillWorker: null,
      prefillDpRank: null,
    };

    expect(nvextObject(alone, { ...plainWish, includeWorkerIds: true })).toEqual({
      worker_id: {
        prefill_worker_id: "d1",
        prefill_dp_rank: 1,
        decode_worker_id: "d1",
        decode_dp_rank: 1,
      },
    });
  });

  it("tells times up to the prefill's token, and how long the move took", () => {
    expect(nvextObject(relayed, { ...plainWish, includeNvextTiming: true })).toEqual({
      timing: {
        request_received_ms: 1_000,
        prefill_wait_time_ms: 7,
        prefill_time_ms: 8,
        ttft_ms: 15,
        total_time_ms: 127,
        kv_hit_rate: 0.5,
        kv_transfer_estimated_latency_ms: 48,
      },
    });
  });

  it("leaves out what nobody knows", () => {
    const alone: RequestSummary = {
      ...summary,
      mode: "decode-only",
      kvHitRate: null,
      timingMs: { received: 1, preparing: 2, "decode.queued": 3, "decode.running": 4 },
    };

    expect(nvextObject(alone, { ...plainWish, includeNvextTiming: true })).toEqual({
      timing: {
        request_received_ms: 1_000,
        prefill_wait_time_ms: 6,
        prefill_time_ms: 4,
        ttft_ms: 10,
        total_time_ms: 10,
      },
    });
  });

  it("stands in the whole answer and in the last event of a stream", () => {
    const frame = { ...chatFrame, wish: { ...plainWish, includeWorkerIds: true } };
    const worker_id = expect.objectContaining({ decode_worker_id: "d1" });

    expect(JSON.parse(answerBody(frame, [], [], [summary])).nvext).toEqual({ worker_id });
    const [[, event] = ["", "{}"]] = eventsOf(new StreamJson(frame).summary([summary]));
    expect(JSON.parse(event)).toMatchObject({ choices: [], nvext: { worker_id } });
  });
});
