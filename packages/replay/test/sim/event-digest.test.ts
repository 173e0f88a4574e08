import { describe, expect, it } from "vitest";
import { EventDigest } from "../../src/sim/event-digest.ts";

type Event = Parameters<EventDigest["add"]>;

function digestOf(events: readonly Event[]): string {
  const digest = new EventDigest();
  for (const event of events) digest.add(...event);
  return digest.end();
}

const events: readonly Event[] = [
  ["chosen", 0, 0, 1],
  ["pass", 1.5, 1, 2],
  ["ended", 1.5, 0, 2],
];

describe("the digest", () => {
  it("is the same for the same events, and another for any other", () => {
    const changed = events.flatMap((_, at): Event[][] => {
      const [kind, atMs, subject, object] = events[at]!;
      const others: Event[] = [
        ["refused", atMs, subject, object],
        [kind, atMs + 1e-9, subject, object],
        [kind, atMs, subject + 1, object],
        [kind, atMs, subject, object + 1],
      ];
      return others.map((other) => events.with(at, other));
    });

    const digests = [events, events.toReversed(), events.slice(1), ...changed].map(digestOf);

    expect(digestOf(events)).toBe(digests[0]);
    expect(new Set(digests).size).toBe(digests.length);
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("covers every event, however many", () => {
    const many = (last: number): Event[] =>
      Array.from({ length: 10_000 }, (_, at) => ["pass", at, 0, at === 9_999 ? last : 0]);

    expect(digestOf(many(1))).not.toBe(digestOf(many(2)));
  });
});
