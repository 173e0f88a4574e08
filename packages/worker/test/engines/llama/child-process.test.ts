import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  disaggregate,
  installedLlama,
  job,
  llamaTitle,
  promptOf,
  TinyModel,
} from "./llama-harness.ts";

describe.skipIf(installedLlama === undefined)(`LlamaEngine and its child${llamaTitle}`, () => {
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
    await expect.poll(() => engine.engine.load().runningSequences).toBe(1);
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
  }, 60_000);

  it("kills a child that has work and says nothing", async () => {
    const engine = await model.started({ silentMs: 1_500, maxSequences: 1 });
    process.kill(engine.engine.childPid!, "SIGSTOP");
    const frozen = engine.generate(job(promptOf(60, 1)));
    await expect(frozen).rejects.toMatchObject({ code: "engine_lost" });
    await engine.restored;
    expect((await engine.generate(job(promptOf(60, 1)))).tokens).toHaveLength(12);
  }, 60_000);

  it("keeps states in a private folder, deletes what was read, and leaves nothing", async () => {
    const engines = await Promise.all([model.started(), model.started({ maxSequences: 1 })]);
    const [prefill, decode] = engines;
    await disaggregate(prefill!, decode!, job(promptOf(80, 1)));
    const folders = (await readdir(model.folder)).filter((name) => name.startsWith("baton-llama"));
    for (const name of folders) {
      const path = join(model.folder, name);
      expect((await stat(path)).mode & 0o777).toBe(0o700);
      await expect.poll(() => readdir(path)).toEqual([]);
    }
    const own = folders.length;
    await Promise.all(engines.map(({ engine }) => engine.stop()));
    const left = (await readdir(model.folder)).filter((name) => name.startsWith("baton-llama"));
    expect(left).toHaveLength(own - 2);
  }, 60_000);

  it("rejects a model that is absent or no GGUF with `config_invalid`", async () => {
    const absent = model.engine({ modelFile: join(model.folder, "absent.gguf") });
    await expect(absent.start()).rejects.toMatchObject({ code: "config_invalid" });
  });

  it("rejects the start when the child cannot load the engine", async () => {
    const broken = model.engine({
      installed: { folder: model.folder, moduleUrl: "file:///no/such/module.js", version: "0" },
    });
    await expect(broken.start()).rejects.toMatchObject({ code: "engine_failed" });
  }, 30_000);
});
