import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startEngineChild } from "../../../src/engines/llama/child-process.ts";
import { Deferred } from "../../../src/engines/llama/deferred.ts";
import {
  disaggregate,
  installedLlama,
  job,
  llamaTitle,
  promptOf,
  soon,
  TinyModel,
} from "./llama-harness.ts";

describe.skipIf(installedLlama === undefined)(
  `LlamaEngine and its child${llamaTitle}`,
  { timeout: 60_000 },
  () => {
    let model: TinyModel;

    beforeAll(async () => {
      model = await TinyModel.create();
    });

    afterAll(async () => {
      await model?.close();
    });

    it("tells the loss of its child, and serves again with a fresh one", async () => {
      const engine = await model.started();
      const prompt = promptOf(60, 1);
      const before = await engine.generate(job(prompt));
      const staged = job(promptOf(40, 2));
      const { staged: kv } = await engine.prefill(staged);
      const running = engine.generate(job(promptOf(40, 3), { maxTokens: 900 }));
      await expect.poll(() => engine.engine.load().runningSequences, soon).toBe(1);
      const killed = engine.engine.childPid;
      process.kill(killed!, "SIGKILL");
      await expect(running).rejects.toMatchObject({ code: "engine_lost" });
      expect(engine.lost).toHaveLength(1);
      expect(engine.kvEvents.at(-1)).toEqual({ kind: "cleared" });
      await expect(kv!.read(0)).rejects.toMatchObject({ code: "kv_transfer_failed" });
      await expect(engine.generate(job(prompt))).rejects.toMatchObject({ code: "engine_lost" });
      const importing = engine.engine.prepareImport({ ...job(prompt), firstTokens: [] });
      await expect(importing).rejects.toMatchObject({ code: "engine_lost" });
      await engine.restored;
      expect(engine.engine.childPid).not.toBe(killed);
      const after = await engine.generate(job(prompt));
      expect(after.tokens).toEqual(before.tokens);
      expect(after.cachedTokens).toBe(0);
    });

    it("kills a child that has work and says nothing", async () => {
      const engine = await model.started({ silentMs: 1_500, maxSequences: 1 });
      process.kill(engine.engine.childPid!, "SIGSTOP");
      const frozen = engine.generate(job(promptOf(60, 1)));
      await expect(frozen).rejects.toMatchObject({ code: "engine_lost" });
      await engine.restored;
      expect((await engine.generate(job(promptOf(60, 1)))).tokens).toHaveLength(12);
    });

    it("keeps states in a private folder, deletes what was read, and leaves nothing", async () => {
      const engines = await Promise.all([model.started(), model.started({ maxSequences: 1 })]);
      const [prefill, decode] = engines;
      await disaggregate(prefill!, decode!, job(promptOf(80, 1)));
      const folders = (await readdir(model.folder)).filter((name) =>
        name.startsWith("baton-llama"),
      );
      for (const name of folders) {
        const path = join(model.folder, name);
        expect((await stat(path)).mode & 0o777).toBe(0o700);
        await expect.poll(() => readdir(path), soon).toEqual([]);
      }
      const own = folders.length;
      await Promise.all(engines.map(({ engine }) => engine.stop()));
      const left = (await readdir(model.folder)).filter((name) => name.startsWith("baton-llama"));
      expect(left).toHaveLength(own - 2);
    });

    it("rejects a model that is absent or no GGUF with `config_invalid`", async () => {
      const absent = model.engine({ modelFile: join(model.folder, "absent.gguf") });
      await expect(absent.start()).rejects.toMatchObject({ code: "config_invalid" });
    });

    it("ends a child that is still loading when it is stopped", async () => {
      let pid = 0;
      const started = new Deferred<void>();
      const engine = model.engine({
        startChild: (env, events) => {
          const child = startEngineChild(env, events);
          pid = child.pid ?? 0;
          started.resolve(undefined);
          return child;
        },
      });
      const starting = engine.start();
      starting.catch(() => {});
      await started.promise;
      await engine.engine.stop();
      await expect(starting).rejects.toMatchObject({ code: "engine_lost" });
      await expect.poll(() => isAlive(pid), soon).toBe(false);
    });

    it("rejects the start when the child cannot load the engine", async () => {
      const broken = model.engine({
        installed: { folder: model.folder, moduleUrl: "file:///no/such/module.js", version: "0" },
      });
      await expect(broken.start()).rejects.toMatchObject({ code: "engine_failed" });
    });
  },
);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("startEngineChild", () => {
  it("starts a child that ends when its parent is killed", async () => {
    const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
    const script = fileURLToPath(new URL("./orphan-parent.ts", import.meta.url));
    const parent = spawn(process.execPath, ["--import", loader, script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString("utf8"));
    expect(isAlive(pid)).toBe(true);
    parent.kill("SIGKILL");
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
  });

  it("tells that its child has ended, once", async () => {
    const ends: string[] = [];
    await new Promise<void>((resolve) => {
      const child = startEngineChild(
        {},
        {
          onMessage() {},
          onLine() {},
          onExit: (why) => {
            ends.push(why);
            resolve();
          },
        },
      );
      child.kill();
    });
    expect(ends).toEqual(["the engine process ended with SIGKILL"]);
  });
});
