import { actorId, requestId } from "@baton/protocol";
import { routeDecode } from "@baton/testing";
import { expect, it } from "vitest";
import { headOf } from "../src/desk-notices.ts";
import { SentCommands } from "../src/sent-commands.ts";

const sent = (id: string, atMs: number, frontendGeneration = 1) => ({
  head: headOf(routeDecode(id, { frontendGeneration })),
  workerId: actorId("w-1"),
  atMs,
});

it("gives a command out once", () => {
  const commands = new SentCommands(1_000);
  commands.add(sent("r1", 0));

  expect(commands.take(requestId("r1"))).toEqual(sent("r1", 0));
  expect(commands.take(requestId("r1"))).toBeUndefined();
});

it("forgets commands that are older than a bounce can be", () => {
  const commands = new SentCommands(1_000);
  for (const [id, atMs] of [
    ["r1", 0],
    ["r2", 500],
  ] as const)
    commands.add(sent(id, atMs));

  commands.forgetOld(1_000);

  expect(commands.take(requestId("r1"))).toBeUndefined();
  expect(commands.size).toBe(1);
});

it("forgets what a lost Frontend asked for, up to its lost generation", () => {
  const commands = new SentCommands(1_000);
  commands.add(sent("r1", 0));
  commands.add(sent("r2", 0, 2));

  commands.dropFrontend(actorId("f-2"), 9);
  commands.dropFrontend(actorId("f-1"), 1);

  expect([commands.take(requestId("r1")), commands.take(requestId("r2"))]).toEqual([
    undefined,
    sent("r2", 0, 2),
  ]);
});
