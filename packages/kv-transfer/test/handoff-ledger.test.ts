import { handoffId, requestId } from "@baton/protocol";
import { VirtualClock } from "@baton/runtime";
import { beforeEach, describe, expect, it } from "vitest";
import type { Desk } from "./support.ts";
import { createDesk, handoffCount, refusedCount, sourceOf, stageOn } from "./support.ts";

const source = sourceOf([100, 100], 50);
const noop = (): void => {};

describe("HandoffLedger", () => {
  let clock: VirtualClock;
  let desk: Desk;

  beforeEach(() => {
    clock = new VirtualClock(1_000);
    desk = createDesk(clock, { leaseMs: 30_000, maxBytesHeld: 1_000 });
  });

  const secretOf = (ticket: { secret: Uint8Array | null }) => ticket.secret as Uint8Array;

  it("makes a ticket with a secret of 16 bytes and an expiry", () => {
    const ticket = stageOn(desk, "h:1", source, 250);

    expect(ticket).toMatchObject({ address: "h:1", bytes: 250, expiresAtMs: 31_000 });
    expect(ticket.secret).toHaveLength(16);
    expect(desk.ledger.held).toBe(1);
    expect(desk.metrics.read("baton_kv_transfer_bytes_held")).toBe(250);
    expect(handoffCount(desk, "staged")).toBe(1);
  });

  it("gives two tickets two secrets and ids", () => {
    const first = stageOn(desk, "h:1", source, 250, "r1");
    const second = stageOn(desk, "h:1", source, 250, "r2");

    expect(first.handoffId).not.toBe(second.handoffId);
    expect(first.secret).not.toEqual(second.secret);
  });

  it("frees a KV once it was pulled", () => {
    const ticket = stageOn(desk, "h:1", source, 250);

    desk.ledger.openPull(ticket.handoffId, secretOf(ticket), noop).complete();

    expect(desk.freed).toEqual([["r1", "pulled"]]);
    expect(desk.ledger.bytesHeld).toBe(0);
    expect(handoffCount(desk, "pulled")).toBe(1);
  });

  it("keeps a KV whose lease is begun anew", async () => {
    const ticket = stageOn(desk, "h:1", source, 250);

    await clock.advanceBy(20_000);
    expect(desk.ledger.extend(ticket.handoffId)).toBe(true);
    await clock.advanceBy(20_000);
    expect(desk.ledger.held).toBe(1);
    await clock.advanceBy(10_001);

    expect(desk.freed).toEqual([["r1", "expired"]]);
    expect(desk.ledger.extend(ticket.handoffId)).toBe(false);
  });

  it("refuses a second use, during the pull and after it", () => {
    const ticket = stageOn(desk, "h:1", source, 250);
    const use = () => desk.ledger.openPull(ticket.handoffId, secretOf(ticket), noop);
    const grant = use();

    expect(use).toThrow(expect.objectContaining({ code: "handoff_refused" }));
    grant.complete();
    expect(use).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: "used" }) }),
    );
    expect(refusedCount(desk, "used")).toBe(2);
  });

  it("keeps the KV when somebody shows a wrong secret", () => {
    const ticket = stageOn(desk, "h:1", source, 250);

    for (const wrong of [new Uint8Array(16), new Uint8Array(0), new Uint8Array(17)]) {
      expect(() => desk.ledger.openPull(ticket.handoffId, wrong, noop)).toThrow(
        expect.objectContaining({ details: expect.objectContaining({ reason: "secret" }) }),
      );
    }

    expect(refusedCount(desk, "secret")).toBe(3);
    expect(desk.ledger.held).toBe(1);
  });

  it("calls a ticket that nobody knows expired", () => {
    expect(() => desk.ledger.openPull(handoffId("h-x"), new Uint8Array(16), noop)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: "expired" }) }),
    );
    expect(refusedCount(desk, "expired")).toBe(1);
  });

  it("frees what nobody pulls when its lease ends", async () => {
    const ticket = stageOn(desk, "h:1", source, 250, "r1");
    await clock.advanceBy(10_000);
    stageOn(desk, "h:1", source, 250, "r2");

    await clock.advanceBy(20_000);
    expect(desk.freed).toEqual([["r1", "expired"]]);
    expect(() => desk.ledger.openPull(ticket.handoffId, secretOf(ticket), noop)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: "expired" }) }),
    );
    await clock.advanceBy(10_000);

    expect(desk.freed).toEqual([
      ["r1", "expired"],
      ["r2", "expired"],
    ]);
    expect(handoffCount(desk, "expired")).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it("begins the lease anew with each part of a pull", async () => {
    const ticket = stageOn(desk, "h:1", source, 250);
    await clock.advanceBy(29_000);
    const grant = desk.ledger.openPull(ticket.handoffId, secretOf(ticket), noop);
    await clock.advanceBy(29_000);
    grant.extend();
    await clock.advanceBy(29_000);

    expect(grant.live).toBe(true);
    grant.complete();
    expect(desk.freed).toEqual([["r1", "pulled"]]);
  });

  it("revokes a pull that makes no progress for a lease", async () => {
    const ticket = stageOn(desk, "h:1", source, 250);
    let revoked = 0;
    const grant = desk.ledger.openPull(ticket.handoffId, secretOf(ticket), () => revoked++);

    await clock.advanceBy(30_000);
    grant.complete();
    grant.abandon("cut");

    expect(revoked).toBe(1);
    expect(grant.live).toBe(false);
    expect(desk.freed).toEqual([["r1", "expired"]]);
    expect(refusedCount(desk, "cut")).toBe(0);
  });

  it("counts a cut pull, frees its KV as released, and does not let it start again", () => {
    const ticket = stageOn(desk, "h:1", source, 250);

    desk.ledger.openPull(ticket.handoffId, secretOf(ticket), noop).abandon("cut");

    expect(desk.freed).toEqual([["r1", "released"]]);
    expect(refusedCount(desk, "cut")).toBe(1);
    expect(() => desk.ledger.openPull(ticket.handoffId, secretOf(ticket), noop)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: "used" }) }),
    );
  });

  it("releases by handoff and by request, once", () => {
    const ticket = stageOn(desk, "h:1", source, 250, "r1");
    stageOn(desk, "h:1", source, 250, "r2");

    expect(desk.ledger.release(ticket.handoffId)).toBe(true);
    expect(desk.ledger.release(ticket.handoffId)).toBe(false);
    expect(desk.ledger.releaseRequest(requestId("r2"))).toBe(true);
    expect(desk.ledger.releaseRequest(requestId("r2"))).toBe(false);

    expect(handoffCount(desk, "released")).toBe(2);
    expect(desk.ledger.bytesHeld).toBe(0);
  });

  it("refuses to stage over its cap, and stages again when there is room", () => {
    const first = stageOn(desk, "h:1", source, 900, "r1");

    expect(() => stageOn(desk, "h:1", source, 101, "r2")).toThrow(
      expect.objectContaining({ code: "overloaded" }),
    );
    expect(desk.ledger.held).toBe(1);
    desk.ledger.release(first.handoffId);
    stageOn(desk, "h:1", source, 1_000, "r2");

    expect(desk.ledger.bytesHeld).toBe(1_000);
  });

  it("holds a lease for an engine that moves the KV itself, which nobody can pull", async () => {
    const ticket = desk.ledger.stage(requestId("r1"), null, {
      ...stageOn(desk, null, source, 0, "other"),
      transport: "engine",
      bytes: 0,
    });

    expect(ticket.secret).toBeNull();
    expect(() => desk.ledger.openPull(ticket.handoffId, new Uint8Array(16), noop)).toThrow(
      expect.objectContaining({ code: "handoff_refused" }),
    );
    await clock.advanceBy(30_000);
    expect(desk.freed).toContainEqual(["r1", "expired"]);
  });

  it("frees everything and leaves no timer when it closes", () => {
    stageOn(desk, "h:1", source, 250, "r1");
    stageOn(desk, "h:1", source, 250, "r2");

    desk.ledger.close();

    expect(desk.freed).toEqual([
      ["r1", "released"],
      ["r2", "released"],
    ]);
    expect(clock.pendingTimers).toBe(0);
  });
});
