import { type RequestState, requestId, type TransitionDetails } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { EndLedger } from "../support/soak/end-ledger.ts";
import type { ClientEnd } from "../support/soak/soak-client.ts";
import type { SoakRequest } from "../support/soak/soak-request.ts";

const completed: ClientEnd = { kind: "completed" };
const left: ClientEnd = { kind: "left" };
const failed = (code: string, stage = "handoff"): ClientEnd => ({
  kind: "failed",
  code,
  stage,
  message: "",
});

function asked(id: string, prompts = 1): SoakRequest {
  return { id, kind: "chat", path: "", body: "", isStreamed: false, prompts, leaves: null };
}

/** A ledger that has heard these states of requests, by the number of the request inside. */
function ledgerWith(...states: readonly (readonly [number, RequestState, TransitionDetails?])[]) {
  const ledger = new EndLedger();
  for (const [number, state, details = {}] of states) {
    ledger.heard([requestId(`req-${number}`), state, 0, details]);
  }
  return ledger;
}

const counts = (completed: number, failed = 0, cancelled = 0) => ({ completed, failed, cancelled });
const from = (clientRequestId: string) => ({ clientRequestId });

describe("a ledger of ends", () => {
  it("is satisfied if clients, the bus and the counters agree", () => {
    const ledger = ledgerWith(
      [1, "received", from("a")],
      [1, "completed"],
      [2, "received", from("b")],
      [2, "failed", { stage: "handoff", code: "worker_lost" }],
      [3, "received", from("c")],
      [3, "cancelled", { stage: "prefill.queued", code: "client_gone" }],
    );
    ledger.told(asked("a"), completed);
    ledger.told(asked("b"), failed("worker_lost"));
    ledger.told(asked("c"), left);
    ledger.told(asked("never-read"), left);
    ledger.told(asked("refused"), failed("invalid_request", "received"));

    expect(ledger.finish(counts(1, 2, 1))).toEqual([]);
    expect(ledger.clientEnds).toEqual(
      new Map([
        ["completed", 1],
        ["failed worker_lost", 1],
        ["left", 2],
        ["failed invalid_request", 1],
      ]),
    );
    expect(ledger.cancelledIn).toEqual(new Map([["prefill.queued", 1]]));
  });

  it("wants an end of every prompt of a body", () => {
    const states = [
      [1, "received", from("a")],
      [2, "received", from("a")],
      [1, "completed"],
    ] as const;
    const whole = ledgerWith(...states, [2, "completed"]);
    whole.told(asked("a", 2), completed);
    const half = ledgerWith(...states);
    half.told(asked("a", 2), completed);

    expect(whole.finish(counts(2))).toEqual([]);
    expect(half.finish(counts(1))).toContain("req-2 (a) has no end");
  });

  it("names a second end, before and after the first was settled", () => {
    const ledger = ledgerWith([1, "received", from("a")], [1, "completed"], [1, "failed"]);
    ledger.told(asked("a"), completed);
    ledger.settle();
    ledger.heard([requestId("req-1"), "cancelled", 0, {}]);

    expect(ledger.finish(counts(1))).toEqual([
      "req-1 was failed after it was completed",
      "req-1 was cancelled without being received, or after its end",
    ]);
  });

  it("names a request without an end, and one that no client was told of", () => {
    const ledger = ledgerWith(
      [1, "received", from("a")],
      [2, "received", from("b")],
      [2, "completed"],
    );
    ledger.told(asked("a"), left);

    expect(ledger.finish(counts(1))).toEqual([
      "req-1 (a) has no end",
      "req-2 (b) was completed, which no client was told",
    ]);
  });

  it("names an end that differs from its client's", () => {
    const ledger = ledgerWith(
      [1, "received", from("a")],
      [1, "failed", { code: "router_lost" }],
      [2, "received", from("b")],
      [2, "completed"],
    );
    ledger.told(asked("a"), failed("worker_lost"));
    ledger.told(asked("b"), { kind: "broken", why: "cut" });

    expect(ledger.finish(counts(1, 1))).toEqual([
      "a (chat): failed worker_lost for its client, failed router_lost on the bus",
      "b (chat): cut; completed on the bus",
    ]);
  });

  it("names an answer of which nothing was heard", () => {
    const ledger = ledgerWith();
    ledger.told(asked("a"), completed);

    expect(ledger.finish(counts(0))).toEqual([
      "a (chat) was completed, of which nothing was heard",
    ]);
  });

  it("names counters that say something else", () => {
    const ledger = ledgerWith([1, "received", from("a")], [1, "completed"]);
    ledger.told(asked("a"), completed);

    expect(ledger.finish(counts(2, 1, 1))).toEqual([
      "1 heard as completed, 2 counted",
      "0 heard as cancelled, 1 counted",
      "0 heard as failed and 0 refused, 1 counted",
    ]);
  });

  it("says how many more there are than it keeps", () => {
    const ledger = new EndLedger();
    for (let i = 0; i < 25; i += 1) ledger.told(asked(`a-${i}`), completed);

    const violations = ledger.finish(counts(0));

    expect(violations).toHaveLength(21);
    expect(violations.at(-1)).toBe("and 5 more");
  });
});
