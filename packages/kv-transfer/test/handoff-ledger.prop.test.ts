import { requestId } from "@baton/protocol";
import { VirtualClock } from "@baton/runtime";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PullGrant } from "../src/index.ts";
import { createDesk, handoffCount, sourceOf, stageOn } from "./support.ts";

const action = fc.oneof(
  fc.record({ do: fc.constant("stage" as const), bytes: fc.integer({ min: 0, max: 400 }) }),
  fc.record({
    do: fc.constantFrom("open", "complete", "abandon", "release", "extend", "wait"),
    at: fc.nat(20),
  }),
);

describe("HandoffLedger under any order of calls", () => {
  it("ends every staged KV exactly once and never holds more than its cap", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
        const clock = new VirtualClock(0);
        const desk = createDesk(clock, { leaseMs: 100, maxBytesHeld: 1_000 });
        const tickets: ReturnType<typeof stageOn>[] = [];
        const grants: PullGrant[] = [];
        let staged = 0;
        for (const step of actions) {
          if ("bytes" in step) {
            const source = sourceOf([step.bytes]);
            try {
              tickets.push(stageOn(desk, "h:1", source, step.bytes, `r${tickets.length}`));
              staged++;
            } catch {
              expect(desk.ledger.bytesHeld + step.bytes).toBeGreaterThan(1_000);
            }
          } else if (step.do === "wait") {
            await clock.advanceBy(step.at * 5);
          } else if (step.do === "open" || step.do === "release") {
            const ticket = tickets[step.at % Math.max(1, tickets.length)];
            if (ticket === undefined) continue;
            if (step.do === "release") desk.ledger.release(ticket.handoffId);
            else {
              try {
                grants.push(
                  desk.ledger.openPull(ticket.handoffId, ticket.secret as Uint8Array, () => {}),
                );
              } catch {
                // Refused: used, expired or released before.
              }
            }
          } else {
            const grant = grants[step.at % Math.max(1, grants.length)];
            if (step.do === "complete") grant?.complete();
            if (step.do === "extend") grant?.extend();
            if (step.do === "abandon") grant?.abandon("cut");
          }
          expect(desk.ledger.bytesHeld).toBeLessThanOrEqual(1_000);
          expect(desk.freed.length + desk.ledger.held).toBe(staged);
        }
        await clock.advanceBy(101);

        const ends = ["pulled", "released", "expired"];
        expect(ends.reduce((sum, end) => sum + handoffCount(desk, end), 0)).toBe(staged);
        expect(new Set(desk.freed.map(([request]) => request)).size).toBe(staged);
        expect([desk.ledger.held, desk.ledger.bytesHeld, clock.pendingTimers]).toEqual([0, 0, 0]);
        expect(desk.ledger.holds(requestId("r0"))).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});
