import { RealClock, SystemRandom } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import type { CommandIo } from "../../src/command-io.ts";
import { up } from "../../src/commands/up.ts";

const flags = {
  engine: "mock",
  nats: "off",
  port: "0",
  "admin-port": "0",
  "log-level": "silent",
  "mock-prefill-ms": "1",
  "mock-decode-ms": "1",
};

function fakeIo() {
  const listeners = new Set<(signal: string) => void>();
  const exits: number[] = [];
  let isReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  const io: CommandIo = {
    env: {},
    clock: new RealClock(),
    random: new SystemRandom(),
    out: (text) => {
      if (text.startsWith("ready ")) isReady();
    },
    err: () => undefined,
    exit: (code) => void exits.push(code),
    onSignal: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const signal = () => {
    for (const listener of [...listeners]) listener("SIGTERM");
  };
  return { io, exits, ready, signal, listeners };
}

describe("baton up", () => {
  it("ends in order on a signal at any time: at once before the actors are there, then by draining", async () => {
    const { io, exits, ready, signal, listeners } = fakeIo();
    const running = up(flags, io);
    signal();
    expect(exits).toEqual([0]);

    // The signal ends a real process; here it goes on.
    await ready;
    expect(listeners.size).toBe(1);
    signal();

    expect(await running).toBe(0);
    expect(exits).toEqual([0]);
  }, 30_000);
});
