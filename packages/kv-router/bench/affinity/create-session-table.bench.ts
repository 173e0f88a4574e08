import { actorId, requestId, workerId } from "@baton/protocol";
import { bench, describe } from "vitest";
import { createSessionTable, type SessionTarget } from "../../src/index.ts";

const sessions = 50_000;
const target: SessionTarget = { workerId: workerId("w1"), generation: 1, dpRank: 0 };
const table = createSessionTable({ writer: actorId("r1"), ttlMs: 1e15 });
for (let index = 0; index < sessions; index += 1) {
  const holder = requestId(`h${index}`);
  table.ask(holder, `s:${index}`, 0);
  table.commit(holder, target, 0);
  table.end(holder, 0);
}
const holders = Array.from({ length: 1_000 }, (_, index) => requestId(`r${index}`));

describe("1,000 requests of as many bound sessions among 50,000", () => {
  bench("ask, commit, end", () => {
    for (let index = 0; index < holders.length; index += 1) {
      const holder = holders[index]!;
      table.ask(holder, `s:${(index * 37) % sessions}`, 1);
      table.commit(holder, target, 1);
      table.end(holder, 2);
    }
  });
});

describe("a sweep that finds nothing", () => {
  let nowMs = 0;
  bench("50,000 sessions", () => {
    nowMs += 30_000;
    table.sweep(nowMs);
  });
});
