import type { ActorId, BookingId } from "@baton/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  createSessionTable,
  type SessionBinding,
  type SessionTable,
  type SessionTarget,
} from "../../src/index.ts";
import { booking, frontend, worker } from "../support.ts";

const ttlMs = 1_000;
const keys = ["s1", "s2"];
const targets: readonly SessionTarget[] = ["w1", "w2", "w3"].map((name) => ({
  workerId: worker(name),
  generation: 1,
  dpRank: 0,
}));

interface Waiting {
  readonly holder: BookingId;
  readonly key: string;
}

/** One router: its table, the requests that it looks at, and those that run. */
class Router {
  readonly table: SessionTable;
  readonly waiting: Waiting[] = [];
  readonly running: BookingId[] = [];
  readonly inbox: SessionBinding[] = [];
  readonly #claims = new Map<string, BookingId>();
  #next = 0;
  readonly #id: ActorId;

  constructor(name: string) {
    this.#id = frontend(name);
    this.table = createSessionTable({ writer: this.#id, ttlMs, limit: 8 });
  }

  arrive(key: string): void {
    this.waiting.push({ holder: booking(`${this.#id}-${this.#next++}`), key });
  }

  /** Tries the first request that waits; `soft` sends it to `target` even if it is bound elsewhere. */
  place(target: SessionTarget, soft: boolean, nowMs: number): SessionBinding | null {
    const request = this.waiting.shift();
    if (request === undefined) return null;
    const { holder, key } = request;
    const asked = this.table.ask(holder, key, nowMs);
    if (asked.kind === "wait" || asked.kind === "full") {
      if (asked.kind === "wait") expect(this.#claims.get(key)).toBeDefined();
      this.waiting.push(request);
      return null;
    }
    if (asked.kind === "claimed") {
      expect(this.#claims.get(key) ?? holder).toBe(holder);
      if (!this.#claims.has(key)) {
        this.#claims.set(key, holder);
        // It claims now and is placed the next time.
        this.waiting.unshift(request);
        return null;
      }
      this.#claims.delete(key);
    }
    const to = asked.kind === "bound" && !soft ? asked.target : target;
    this.running.push(holder);
    return this.table.commit(holder, to, nowMs);
  }

  leave(nowMs: number): void {
    const request = this.waiting.shift();
    if (request === undefined) return;
    const { reopened } = this.table.end(request.holder, nowMs);
    const isClaimant = this.#claims.get(request.key) === request.holder;
    expect(reopened).toBe(isClaimant);
    if (isClaimant) this.#claims.delete(request.key);
  }

  endFirst(nowMs: number): SessionBinding | null {
    const holder = this.running.shift();
    return holder === undefined ? null : this.table.end(holder, nowMs).binding;
  }

  hear(nowMs: number): void {
    const binding = this.inbox.shift();
    if (binding !== undefined) this.table.hear(binding, true, nowMs);
  }

  /** Where a further request of the session would go; null if it would choose. */
  boundTo(key: string, nowMs: number): string | null {
    const probe = booking(`probe-${this.#next++}`);
    const asked = this.table.ask(probe, key, nowMs);
    this.table.end(probe, nowMs);
    return asked.kind === "bound" ? asked.target.workerId : null;
  }
}

const side = fc.constantFrom(0, 1);
const step = fc.oneof(
  fc.record({ do: fc.constant("arrive" as const), side, key: fc.constantFrom(...keys) }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("place" as const),
      side,
      target: fc.constantFrom(...targets),
      soft: fc.boolean(),
    }),
  },
  fc.record({ do: fc.constant("leave" as const), side }),
  fc.record({ do: fc.constant("end" as const), side }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant("hear" as const), side }) },
  fc.record({
    do: fc.constant("advance" as const),
    side,
    ms: fc.constantFrom(0, 1, 400),
  }),
);

function run(steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[]) {
  const routers = [new Router("r1"), new Router("r2")] as const;
  let nowMs = 10_000;
  const tell = (from: number, binding: SessionBinding | null): void => {
    if (binding !== null) routers[1 - from]!.inbox.push(binding);
  };
  for (const taken of steps) {
    const router = routers[taken.side]!;
    if (taken.do === "arrive") router.arrive(taken.key);
    else if (taken.do === "place") tell(taken.side, router.place(taken.target, taken.soft, nowMs));
    else if (taken.do === "leave") router.leave(nowMs);
    else if (taken.do === "end") tell(taken.side, router.endFirst(nowMs));
    else if (taken.do === "hear") router.hear(nowMs);
    else nowMs += taken.ms;
  }
  return { routers, nowMs, tell };
}

it("brings two routers to one binding once all is said, whatever the order", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { routers, nowMs, tell } = run(steps);
      for (const [index, router] of routers.entries()) {
        while (router.waiting.length > 0) router.leave(nowMs);
        while (router.running.length > 0) tell(index, router.endFirst(nowMs));
      }
      for (const router of routers) {
        while (router.inbox.length > 0) router.hear(nowMs);
      }
      for (const key of keys) {
        const [first, second] = routers.map((router) => router.boundTo(key, nowMs));
        // One of them may know nothing: it was choosing when it was told, and then gave up.
        if (first !== null && second !== null) expect(first).toBe(second);
      }
    }),
    { numRuns: 2_000 },
  );
});

it("keeps nothing of a session once nobody has held it for the TTL", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { routers, nowMs } = run(steps);
      for (const router of routers) {
        while (router.waiting.length > 0) router.leave(nowMs);
        while (router.running.length > 0) router.endFirst(nowMs);
        router.table.sweep(nowMs + 2 * ttlMs);
        expect(router.table.size).toBe(0);
      }
    }),
    { numRuns: 500 },
  );
});
