import { type RequestState, requestId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { PlacedRequests } from "../support/soak/placed-requests.ts";

/** What is on p and on d after these states of requests, by number. */
function placed(...states: readonly (readonly [number, RequestState, string?])[]) {
  const requests = new PlacedRequests();
  for (const [number, state, workerId] of states) {
    requests.heard([
      requestId(`req-${number}`),
      state,
      0,
      workerId === undefined ? {} : { workerId },
    ]);
  }
  return { p: requests.on("p"), d: requests.on("d") };
}

describe("placed requests", () => {
  it("are on nobody until they are dispatched", () => {
    expect(placed([1, "received"], [1, "prefill.queued"])).toEqual({ p: 0, d: 0 });
  });

  it("are on one worker at a time, that of the prefill until they go to another", () => {
    const prefilled = [
      [1, "prefill.running", "p"],
      [1, "decode.routing", "p"],
    ] as const;

    expect(placed(...prefilled)).toEqual({ p: 1, d: 0 });
    expect(placed(...prefilled, [1, "handoff", "d"])).toEqual({ p: 0, d: 1 });
    expect(placed(...prefilled, [1, "handoff", "d"], [1, "decode.streaming", "d"])).toEqual({
      p: 0,
      d: 1,
    });
  });

  it.each(["completed", "failed", "cancelled"] as const)(
    "are on nobody once they are %s",
    (end) => {
      const states = [
        [1, "decode.running", "d"],
        [2, "decode.running", "d"],
        [1, end],
      ] as const;

      expect(placed(...states)).toEqual({ p: 0, d: 1 });
      expect(placed(...states, [1, "failed"])).toEqual({ p: 0, d: 1 });
    },
  );
});
