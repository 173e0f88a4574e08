import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SeededRandom } from "@baton/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StateDir } from "../../../src/engines/llama/state-dir.ts";

let base = "";

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "baton-dirs-"));
});

afterAll(async () => {
  await rm(base, { recursive: true });
});

describe("StateDir", () => {
  it("is private, and another one for each engine even with equal seeds", async () => {
    const first = await StateDir.create(new SeededRandom(1), 0, base);
    const second = await StateDir.create(new SeededRandom(1), 0, base);
    expect(first.path).not.toBe(second.path);
    expect((await stat(first.path)).mode & 0o777).toBe(0o700);
    expect(first.newFile()).not.toBe(first.newFile());
    expect(first.newFile().startsWith(first.path)).toBe(true);
    await Promise.all([first.remove(), second.remove()]);
    expect(await readdir(base)).toEqual([]);
  });

  it("removes what dead processes left, and nothing else", async () => {
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const dead = `baton-llama-${pid}-x`;
    const living = `baton-llama-${process.pid}-y`;
    for (const name of [dead, living, "other"]) await mkdir(join(base, name));
    const dir = await StateDir.create(new SeededRandom(2), 0, base);
    expect((await readdir(base)).sort()).toEqual(
      [living, "other", dir.path.slice(base.length + 1)].sort(),
    );
    await dir.remove();
  });

  it("discards a file, and does not mind one that was never written", async () => {
    const dir = await StateDir.create(new SeededRandom(3), 0, base);
    const path = dir.newFile();
    await writeFile(path, "x");
    await dir.discard(path);
    await dir.discard(path);
    expect(await readdir(dir.path)).toEqual([]);
  });

  it("finds a place by itself, in memory only if there is room", async () => {
    const dir = await StateDir.create(new SeededRandom(4), Number.MAX_SAFE_INTEGER, undefined);
    expect(dir.path.startsWith(tmpdir())).toBe(true);
    await dir.remove();
  });
});
