import { ManualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { ChildClient } from "../../../src/engines/llama/child-client.ts";
import type { ChildEvents } from "../../../src/engines/llama/child-process.ts";
import type {
  ChildMessage,
  ParentMessage,
  RunCommand,
} from "../../../src/engines/llama/child-protocol.ts";

function setUp() {
  const clock = new ManualClock();
  const sent: ParentMessage[] = [];
  const lost: string[] = [];
  const steps: ChildMessage[] = [];
  const lines: string[] = [];
  let kills = 0;
  let events: ChildEvents | undefined;
  const client = new ChildClient(
    {
      clock,
      env: {},
      silentMs: 5_000,
      loadMs: 60_000,
      startChild: (_, given) => {
        events = given;
        return {
          pid: 7,
          send: (message) => sent.push(message),
          kill: () => {
            kills += 1;
          },
        };
      },
    },
    {
      onStep: (step) => steps.push(step),
      onLog: (_, line) => lines.push(line),
      onLost: (error) => lost.push(error.code),
    },
  );
  return {
    client,
    clock,
    sent,
    lost,
    steps,
    lines,
    kills: () => kills,
    say: (message: ChildMessage) => events?.onMessage(message),
    exit: () => events?.onExit("the engine process ended with SIGSEGV"),
    write: (line: string) => events?.onLine(line),
  };
}

const run = { kind: "run", run: 1, slot: 0, choiceSeeds: null } as RunCommand;
const output = { run: 1, choice: 0, token: 5, logprobs: null };
const step = { kind: "step", held: [], promptLogprobs: [] } as const;

describe("ChildClient", () => {
  it("settles a run by its last token, its save, its cancel or its failure", async () => {
    const { client, say, sent, steps } = setUp();
    const finished = client.run(run);
    say({ ...step, outputs: [{ ...output, finish: null }] });
    say({ ...step, outputs: [{ ...output, finish: "stop" }] });
    expect(await finished).toBe("finished");
    expect(steps).toHaveLength(2);
    const saved = client.run({ ...run, run: 2 });
    say({ kind: "saved", run: 2 });
    expect(await saved).toBe("saved");
    const cancelled = client.run({ ...run, run: 3 });
    client.cancel(3);
    expect(sent.at(-1)).toEqual({ kind: "cancel", run: 3 });
    say({ kind: "cancelled", run: 3 });
    expect(await cancelled).toBe("cancelled");
    const failed = client.run({ ...run, run: 4 });
    say({ kind: "failed", run: 4, problem: "Eval has failed" });
    await expect(failed).rejects.toMatchObject({ code: "engine_failed" });
    client.cancel(4);
    expect(sent.at(-1)).toMatchObject({ kind: "run" });
  });

  it("settles a run with choices when it pauses, whichever of them have ended", async () => {
    const { client, say } = setUp();
    let end: string | undefined;
    const forked = client.run({ ...run, choiceSeeds: [1, 2] }).then((how) => {
      end = how;
    });
    say({
      ...step,
      outputs: [
        { ...output, finish: "stop" },
        { ...output, choice: 1, finish: null },
      ],
    });
    await Promise.resolve();
    expect(end).toBeUndefined();
    say({ kind: "forked", run: 1 });
    await forked;
    expect(end).toBe("forked");
  });

  it("settles loading, saving and restoring", async () => {
    const { client, say } = setUp();
    const loading = client.load({ kind: "load" } as never);
    say({
      kind: "loaded",
      build: "b",
      contextSize: 256,
      vocabularySize: 9,
      endTokens: [2],
      hasGrammars: true,
    });
    expect(await loading).toMatchObject({ build: "b" });
    const saving = client.save(0, "a");
    const restoring = client.restore(1, "b", 5);
    say({ kind: "done", call: 2, problem: "refused" });
    say({ kind: "done", call: 1, problem: null });
    await saving;
    await expect(restoring).rejects.toMatchObject({ code: "engine_failed" });
  });

  it("fails everything with `engine_lost` when the child ends, and tells it once", async () => {
    const { client, exit, lost, say } = setUp();
    const [running, saving] = [client.run(run), client.save(0, "a")];
    exit();
    exit();
    await expect(running).rejects.toMatchObject({ code: "engine_lost" });
    await expect(saving).rejects.toMatchObject({ code: "engine_lost" });
    await expect(client.run(run)).rejects.toMatchObject({ code: "engine_lost" });
    expect(lost).toEqual(["engine_lost"]);
    say({ kind: "saved", run: 1 });
  });

  it("kills a child that has work and is silent, but not one that is slow or idle", async () => {
    const { client, clock, lost, kills, say } = setUp();
    await clock.advanceBy(60_000);
    const running = client.run(run);
    running.catch(() => {});
    await clock.advanceBy(4_000);
    say({ ...step, outputs: [] });
    await clock.advanceBy(4_500);
    expect(lost).toEqual([]);
    await clock.advanceBy(2_000);
    expect(lost).toEqual(["engine_lost"]);
    expect(kills()).toBeGreaterThan(0);
    await expect(running).rejects.toThrow("said nothing for 5000 ms");
  });

  it("gives loading a longer time", async () => {
    const { client, clock, lost } = setUp();
    const loading = client.load({ kind: "load" } as never);
    loading.catch(() => {});
    await clock.advanceBy(50_000);
    expect(lost).toEqual([]);
    await clock.advanceBy(12_000);
    await expect(loading).rejects.toMatchObject({ code: "engine_lost" });
  });

  it("says why a child could not load", async () => {
    const { client, say } = setUp();
    const loading = client.load({ kind: "load" } as never);
    say({ kind: "unusable", problem: "no such module" });
    await expect(loading).rejects.toThrow("no such module");
  });

  it("closes quietly", async () => {
    const { client, lost, kills } = setUp();
    const running = client.run(run);
    client.close();
    await expect(running).rejects.toMatchObject({ code: "engine_lost" });
    expect(lost).toEqual([]);
    expect(kills()).toBe(1);
    expect(client.pid).toBe(7);
  });

  it("passes on what the library and the process say", () => {
    const { say, write, lines } = setUp();
    say({ kind: "log", level: "warn", line: "a" });
    write("b");
    expect(lines).toEqual(["a", "b"]);
  });
});
