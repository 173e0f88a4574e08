import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock, SeededRandom } from "@baton/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bootChild } from "../../../src/engines/llama/boot-child.ts";
import type { ChildClient } from "../../../src/engines/llama/child-client.ts";
import type { StartChild } from "../../../src/engines/llama/child-process.ts";
import { StateDir } from "../../../src/engines/llama/state-dir.ts";
import { smallState, writeSyntheticState } from "./synthetic-state.ts";

let base = "";
let dir: StateDir;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "baton-boot-"));
  dir = await StateDir.create(new SeededRandom(1), 0, base);
});

afterAll(async () => {
  await rm(base, { recursive: true });
});

/** A child that loads at once and saves `state`. */
function childSaving(state: Uint8Array): { startChild: StartChild; kills: () => number } {
  let kills = 0;
  const startChild: StartChild = (_, events) => ({
    pid: 1,
    kill: () => {
      kills += 1;
    },
    send: async (message) => {
      if (message.kind === "load") {
        events.onMessage({
          kind: "loaded",
          build: "b",
          contextSize: 512,
          vocabularySize: 9,
          endTokens: [2, 7],
          hasGrammars: true,
        });
      } else if (message.kind === "run" && message.saveTo !== null) {
        await writeFile(message.saveTo, state);
        events.onMessage({ kind: "saved", run: message.run });
      }
    },
  });
  return { startChild, kills: () => kills };
}

function boot(startChild: StartChild, onStarted: (client: ChildClient) => void = () => {}) {
  const settings = {
    installed: { folder: "f", moduleUrl: "m", version: "v" },
    modelPath: "p",
    env: {},
    startChild,
    contextLength: 500,
    maxSequences: 3,
    threads: 1,
    chunkTokens: 64,
    stepTokens: 67,
    silentMs: 1000,
    loadMs: 1000,
  };
  const context = { clock: new ManualClock(), dir, modelSha256: "abc", blockSize: 16, onStarted };
  return bootChild(settings, context, { onStep() {}, onLog() {}, onLost() {} });
}

describe("bootChild", () => {
  it("learns from a saved state what the KV looks like", async () => {
    const state = writeSyntheticState({ ...smallState, tokens: [0, 0] });
    const child = await boot(childSaving(state).startChild);
    expect(child).toMatchObject({ contextLength: 512, vocabularySize: 9, streamCount: 3 });
    expect(child.shape.layerCount).toBe(2);
    expect(child.descriptor).toMatchObject({ model: "abc", build: "b", keyRowBytes: 12 });
    expect(await readdir(dir.path)).toEqual([]);
    child.client.close();
  });

  it("refuses a model whose KV cannot be cut, names the field, and ends the child", async () => {
    const state = writeSyntheticState({ ...smallState, tokens: [0, 0] });
    new DataView(state.buffer).setUint32(4, 4, true);
    const { startChild, kills } = childSaving(state);
    await expect(boot(startChild)).rejects.toMatchObject({
      code: "config_invalid",
      details: { field: "version" },
    });
    expect(kills()).toBe(1);
  });

  it("ends with the client that it shows first", async () => {
    const silent: StartChild = () => ({ pid: 1, send() {}, kill() {} });
    const booting = boot(silent, (client) => client.close());
    await expect(booting).rejects.toMatchObject({ code: "engine_lost" });
  });
});
