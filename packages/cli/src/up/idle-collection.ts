import { Session } from "node:inspector";
import { setFlagsFromString } from "node:v8";
import type { Clock, Timer } from "@baton/runtime";

/** What a process uses of its machine. */
export interface ProcessUse {
  /** CPU time of all its threads so far, ms. */
  cpuMs(): number;
  residentBytes(): number;
  /** Collects its garbage. Takes some 80 ms of a heap of 40 MB. */
  collect(): void;
}

const lookEveryMs = 1_000;
/** Looks in a row at which the process did next to nothing. */
const quietLooks = 2;
/** The share of a core up to which it does next to nothing: life signs of all actors need 3 %, on a busy machine 10 %. */
const quietShare = 0.25;
/** What is not worth a collection. */
const leastGrowthBytes = 16 * 1024 * 1024;
/** Garbage that a heap may hold beside what is in use, percent. */
const garbagePercent = 30;

/**
 * Collects garbage when work is over: V8 collects for want of room only, so that a process without work keeps what its
 * last burst left. Cancel the timer to end it.
 */
export function collectWhenIdle(clock: Clock, use: ProcessUse): Timer {
  let floorBytes = use.residentBytes();
  let lookedAtMs = clock.nowMs();
  let usedMs = use.cpuMs();
  let quiet = 0;
  return clock.setRepeating(lookEveryMs, () => {
    const nowMs = clock.nowMs();
    const cpuMs = use.cpuMs();
    const isQuiet = cpuMs - usedMs <= quietShare * (nowMs - lookedAtMs);
    lookedAtMs = nowMs;
    usedMs = cpuMs;
    quiet = isQuiet ? quiet + 1 : 0;
    const bytes = use.residentBytes();
    floorBytes = Math.min(floorBytes, bytes);
    if (quiet < quietLooks || bytes < floorBytes + leastGrowthBytes) return;
    use.collect();
    floorBytes = use.residentBytes();
  });
}

/**
 * This process. Its heap is kept small from then on: by default V8 lets a small one hold several times of what is in use,
 * which for all actors in one process is 150 MB.
 */
export function ownUse(): ProcessUse {
  setFlagsFromString(`--heap-growing-percent=${garbagePercent}`);
  const session = new Session();
  session.connect();
  return {
    // The one collection that also gives emptied pages back to the machine.
    collect: () => session.post("HeapProfiler.collectGarbage"),
    cpuMs: () => {
      const { system, user } = process.cpuUsage();
      return (system + user) / 1_000;
    },
    residentBytes: () => process.memoryUsage.rss(),
  };
}
