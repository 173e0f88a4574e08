import { type KvHandoff, ServingError } from "@baton/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KvMover, KvSource, PartId, Pull } from "../src/index.ts";
import { bytesOf, type Desk, handoffCount, refusedCount, sourceOf, stageOn } from "./support.ts";

/** Two movers that reach each other. */
export interface MoverPair {
  readonly source: Desk;
  readonly sourceMover: KvMover;
  readonly puller: Desk;
  readonly pullerMover: KvMover;
  /** Lets time and messages flow until the condition holds. Fails if it never does. */
  until(condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/** What every `KvMover` promises. */
export function kvMoverContract(name: string, createPair: () => Promise<MoverPair>): void {
  describe(`${name} keeps the contract of a KvMover`, () => {
    let pair: MoverPair;

    beforeEach(async () => {
      pair = await createPair();
    });
    afterEach(() => pair.close());

    const stage = (source: KvSource & { bytes: number }, requestName = "r1"): KvHandoff =>
      stageOn(pair.source, pair.sourceMover.address, source, source.bytes, requestName);

    const collect = (ticket: KvHandoff, parts: readonly PartId[]) => {
      const got: [PartId, Uint8Array][] = [];
      const pull = pair.pullerMover.pull({
        ticket,
        parts,
        onPart: (part, bytes) => void got.push([part, bytes]),
      });
      return { got, pull };
    };

    const outcomeOf = async (pull: Pull): Promise<unknown> => {
      let outcome: unknown;
      pull.done.then(
        () => {
          outcome = "done";
        },
        (error: unknown) => {
          outcome = error;
        },
      );
      await pair.until(() => outcome !== undefined);
      return outcome;
    };

    const codeOf = (error: unknown) => (error instanceof ServingError ? error.code : error);
    const reasonOf = (error: unknown) =>
      error instanceof ServingError ? error.details.reason : error;

    it("has an address once it listens", () => {
      expect(pair.sourceMover.address).toMatch(/.:\d+$/);
    });

    it("moves the parts asked for, in order, and frees the KV", async () => {
      const ticket = stage(sourceOf([300, 200, 3_000_000], 50));
      const { got, pull } = collect(ticket, [0, 2, "tail"]);

      expect(await outcomeOf(pull)).toBe("done");

      expect(got.map(([part]) => part)).toEqual([0, 2, "tail"]);
      expect(Buffer.compare(got[0]![1], bytesOf(0, 300))).toBe(0);
      expect(Buffer.compare(got[1]![1], bytesOf(2, 3_000_000))).toBe(0);
      expect(Buffer.compare(got[2]![1], bytesOf("tail", 50))).toBe(0);
      await pair.until(() => pair.source.ledger.held === 0);
      expect(pair.source.freed).toEqual([["r1", "pulled"]]);
    });

    it("uses a ticket up with a pull of nothing", async () => {
      const ticket = stage(sourceOf([300]));

      expect(await outcomeOf(collect(ticket, []).pull)).toBe("done");
      await pair.until(() => pair.source.ledger.held === 0);

      expect(handoffCount(pair.source, "pulled")).toBe(1);
    });

    it("moves a part of no bytes", async () => {
      const ticket = stage(sourceOf([0], 0));
      const { got, pull } = collect(ticket, [0, "tail"]);

      expect(await outcomeOf(pull)).toBe("done");
      expect(got.map(([, bytes]) => bytes.length)).toEqual([0, 0]);
    });

    it("serves many pulls one after the other and side by side", async () => {
      for (let round = 0; round < 3; round++) {
        const names = ["a", "b", "c", "d"].map((letter) => `${letter}${round}`);
        const pulls = names.map((requestName) =>
          collect(stage(sourceOf([500, 70_000], 9), requestName), [0, 1, "tail"]),
        );
        for (const { pull } of pulls) expect(await outcomeOf(pull)).toBe("done");
        for (const { got } of pulls) expect(got.map(([, b]) => b.length)).toEqual([500, 70_000, 9]);
      }
      await pair.until(() => pair.source.ledger.held === 0);
      expect(handoffCount(pair.source, "pulled")).toBe(12);
    });

    it("refuses a ticket that was used", async () => {
      const ticket = stage(sourceOf([300]));
      await outcomeOf(collect(ticket, [0]).pull);
      await pair.until(() => pair.source.ledger.held === 0);

      const second = await outcomeOf(collect(ticket, [0]).pull);

      expect([codeOf(second), reasonOf(second)]).toEqual(["handoff_refused", "used"]);
      expect(refusedCount(pair.source, "used")).toBe(1);
    });

    it("refuses a wrong secret and keeps the KV for the right one", async () => {
      const ticket = stage(sourceOf([300]));

      const refused = await outcomeOf(collect({ ...ticket, secret: new Uint8Array(16) }, [0]).pull);

      expect([codeOf(refused), reasonOf(refused)]).toEqual(["handoff_refused", "secret"]);
      expect(await outcomeOf(collect(ticket, [0]).pull)).toBe("done");
    });

    it("refuses a ticket that was released", async () => {
      const ticket = stage(sourceOf([300]));
      pair.source.ledger.release(ticket.handoffId);

      const refused = await outcomeOf(collect(ticket, [0]).pull);

      expect([codeOf(refused), reasonOf(refused)]).toEqual(["handoff_refused", "expired"]);
    });

    it("fails when nobody is at the ticket's address", async () => {
      const ticket = stage(sourceOf([300]));
      await pair.sourceMover.close();

      expect(codeOf(await outcomeOf(collect(ticket, [0]).pull))).toBe("kv_transfer_failed");
    });

    it("fails at the puller and releases at the source when a part is gone", async () => {
      const ticket = stage(sourceOf([300]));

      expect(codeOf(await outcomeOf(collect(ticket, [0, 1]).pull))).toBe("kv_transfer_failed");
      await pair.until(() => pair.source.ledger.held === 0);

      expect(pair.source.freed).toEqual([["r1", "released"]]);
    });

    it("rejects with what the taker threw, and releases at the source", async () => {
      for (const [requestName, onPart] of [
        [
          "sync",
          () => {
            throw new ServingError("kv_transfer_failed", { part: 0 });
          },
        ],
        ["async", () => Promise.reject(new ServingError("kv_transfer_failed", { part: 0 }))],
      ] as const) {
        const ticket = stage(sourceOf([300, 300]), requestName);
        const pull = pair.pullerMover.pull({ ticket, parts: [0, 1], onPart });

        expect(await outcomeOf(pull)).toMatchObject({ details: { part: 0 } });
        await pair.until(() => pair.source.ledger.held === 0);
      }

      expect(handoffCount(pair.source, "released")).toBe(2);
      expect(refusedCount(pair.source, "cut")).toBe(0);
    });

    it("waits for the taker of a part before the next", async () => {
      const ticket = stage(sourceOf([300, 300], 10));
      const takers: (() => void)[] = [];
      const pull = pair.pullerMover.pull({
        ticket,
        parts: [0, 1, "tail"],
        onPart: () => new Promise<void>((resolve) => takers.push(resolve)),
      });

      for (let taken = 1; taken <= 3; taken++) {
        await pair.until(() => takers.length === taken);
        takers[taken - 1]?.();
      }

      expect(await outcomeOf(pull)).toBe("done");
    });

    it("is cancelled at any time: the puller hears it at once, the source frees the KV", async () => {
      const early = stage(sourceOf([300]), "early");
      const pull = collect(early, [0]).pull;
      pull.cancel();
      expect(codeOf(await outcomeOf(pull))).toBe("cancelled");

      const late = stage(sourceOf([300, 2_000_000]), "late");
      let started = false;
      const second = pair.pullerMover.pull({
        ticket: late,
        parts: [0, 1],
        onPart: () => {
          started = true;
          return new Promise<void>(() => {});
        },
      });
      await pair.until(() => started);
      second.cancel();
      second.cancel();
      expect(codeOf(await outcomeOf(second))).toBe("cancelled");
      await pair.until(() => pair.source.freed.some(([request]) => request === "late"));

      expect(pair.source.freed).toContainEqual(["late", "released"]);
      expect(refusedCount(pair.source, "cut")).toBe(0);
    });

    it("fails at the puller when the KV is freed under the pull", async () => {
      const ticket = stage(sourceOf([300, 20_000_000]));
      let release: () => void = () => {};
      const pull = pair.pullerMover.pull({
        ticket,
        parts: [0, 1],
        onPart: (part) => {
          if (part !== 0) return undefined;
          pair.source.ledger.release(ticket.handoffId);
          return new Promise<void>((resolve) => {
            release = resolve;
          });
        },
      });
      await pair.until(() => pair.source.ledger.held === 0);
      release();

      expect(codeOf(await outcomeOf(pull))).toBe("kv_transfer_failed");
      expect(pair.source.freed).toEqual([["r1", "released"]]);
    });

    it("counts a cut at the source when the puller goes away in the middle", async () => {
      const ticket = stage(sourceOf([300, 300]));
      let started = false;
      const pull = pair.pullerMover.pull({
        ticket,
        parts: [0, 1],
        onPart: () => {
          started = true;
          return new Promise<void>(() => {});
        },
      });
      await pair.until(() => started);
      await pair.pullerMover.close();

      expect(codeOf(await outcomeOf(pull))).toBe("kv_transfer_failed");
      await pair.until(() => pair.source.ledger.held === 0);
      expect(pair.source.freed).toEqual([["r1", "released"]]);
      expect(refusedCount(pair.source, "cut")).toBe(1);
    });

    it("fails at the puller when the source goes away in the middle", async () => {
      const ticket = stage(sourceOf([300, 20_000_000]));
      let resume: () => void = () => {};
      let started = false;
      const pull = pair.pullerMover.pull({
        ticket,
        parts: [0, 1],
        onPart: () => {
          started = true;
          return new Promise<void>((resolve) => {
            resume = resolve;
          });
        },
      });
      await pair.until(() => started);
      await pair.sourceMover.close();
      resume();

      expect(codeOf(await outcomeOf(pull))).toBe("kv_transfer_failed");
      await pair.until(() => pair.source.ledger.held === 0);
    });

    it("refuses to pull once it is closed", async () => {
      const ticket = stage(sourceOf([300]));
      await pair.pullerMover.close();

      expect(codeOf(await outcomeOf(collect(ticket, [0]).pull))).toBe("kv_transfer_failed");
    });
  });
}
