import { describe, expect, it } from "vitest";
import { PendingReplies } from "../../src/bus/pending-replies.ts";
import { VirtualClock } from "../../src/virtual-clock.ts";

const nothing = new Uint8Array(0);

function world() {
  const clock = new VirtualClock(0);
  const pending = new PendingReplies(clock);
  const outcomes: string[] = [];
  const ask = (name: string, timeoutMs: number) => {
    let token = "";
    pending
      .ask(name, timeoutMs, (given) => {
        token = given;
      })
      .then(
        () => outcomes.push(`${name} answered`),
        (error) => outcomes.push(`${name} ${error.code} ${clock.nowMs()}`),
      );
    return token;
  };
  return { clock, pending, outcomes, ask };
}

describe("PendingReplies", () => {
  it("keeps one timer, whatever the number of requests, and none when all is over", async () => {
    const { clock, pending, outcomes, ask } = world();

    const tokens = Array.from({ length: 100 }, (_, index) => ask(`r${index}`, 1_000 + index));
    ask("sooner", 50);
    expect(clock.pendingTimers).toBe(1);
    for (const token of tokens) expect(pending.answer(token, nothing)).toBe(true);
    await clock.advanceBy(60);

    expect(outcomes.at(-1)).toBe("sooner deadline_exceeded 50");
    expect(outcomes).toHaveLength(101);
    expect([pending.size, clock.pendingTimers]).toEqual([0, 0]);
  });

  it("gives up each request soon after its own deadline", async () => {
    const { clock, outcomes, ask } = world();
    ask("a", 100);
    ask("b", 102);
    ask("c", 300);

    await clock.advanceBy(400);

    expect(outcomes).toEqual([
      "a deadline_exceeded 100",
      "b deadline_exceeded 105",
      "c deadline_exceeded 300",
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("rejects a request that could not be sent, and keeps nothing of it", async () => {
    const { clock, pending } = world();

    await expect(
      pending.ask("x", 100, () => {
        throw new Error("not sent");
      }),
    ).rejects.toThrow("not sent");

    expect([pending.size, clock.pendingTimers]).toEqual([0, 0]);
  });

  it("hands answers to an open stream until it is closed, and ignores that nobody listens", () => {
    const { pending } = world();
    const heard: number[] = [];
    const token = pending.open((payload) => heard.push(payload.length));

    pending.noResponders(token);
    pending.answer(token, new Uint8Array(1));
    pending.answer(token, new Uint8Array(2));
    expect([pending.size, pending.requests]).toEqual([1, 0]);
    pending.close(token);

    expect(pending.answer(token, nothing)).toBe(false);
    expect(heard).toEqual([1, 2]);
  });

  it("ends all requests at once when the connection goes", async () => {
    const { clock, pending, outcomes, ask } = world();
    ask("a", 100);
    ask("b", 100);

    pending.rejectAll();
    await clock.advanceBy(0);

    expect(outcomes).toEqual(["a bus_unavailable 0", "b bus_unavailable 0"]);
    expect(clock.pendingTimers).toBe(0);
  });
});
