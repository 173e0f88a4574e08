/**
 * The folder that holds node-llama-cpp: outside the workspaces, with a lock of its own, because its
 * optional packages must be left out. It is installed on demand and never while serving.
 */

import { spawn } from "node:child_process";
import { access, copyFile, mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { arch, platform } from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { killAtExit } from "./kill-at-exit.ts";

/** The command that a person types to get the engine. */
export const installLlamaCommand = "npx baton engine install llama";

/** An installed engine, ready for a child process to import. */
export interface InstalledLlamaEngine {
  readonly folder: string;
  /** `file:` URL of the module to import. */
  readonly moduleUrl: string;
  readonly version: string;
}

/** Why the engine could not be installed. */
export type LlamaInstallProblem =
  | "unsupported_platform"
  | "npm_missing"
  | "registry_unreachable"
  | "npm_failed";

/** The engine could not be installed. The message names what to do. */
export class LlamaInstallError extends Error {
  readonly problem: LlamaInstallProblem;

  constructor(problem: LlamaInstallProblem, message: string) {
    super(message);
    this.name = "LlamaInstallError";
    this.problem = problem;
  }
}

export interface InstallOptions {
  /** The environment of npm. Variables of an npm that is already running are left out. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the engine goes; default `defaultLlamaEngineFolder()`. */
  readonly folder?: string;
  /** Replaces the program `npm` and the arguments before npm's own; for tests. */
  readonly npm?: readonly string[];
}

const folderFiles = ["package.json", "package-lock.json", ".npmrc"];
/** npm packages of the native library, by Node's names of platform and architecture. */
const platformPackages: Readonly<Record<string, string>> = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "linux-arm": "linux-armv7l",
  "linux-riscv64": "linux-riscv64",
  "darwin-arm64": "mac-arm64-metal",
  "darwin-x64": "mac-x64",
  "win32-x64": "win-x64",
  "win32-arm64": "win-arm64",
};

/** The engine's folder in this repository. The same from `src` and from `dist`. */
export function defaultLlamaEngineFolder(): string {
  return fileURLToPath(new URL("../../../../../engines/llama", import.meta.url));
}

/** The installed engine, or undefined if it is absent, of another version or for another machine. */
export async function findLlamaEngine(
  folder: string = defaultLlamaEngineFolder(),
): Promise<InstalledLlamaEngine | undefined> {
  const wanted = await wantedVersion(folder);
  const native = platformPackages[`${platform}-${arch}`];
  if (wanted === undefined || native === undefined) return undefined;
  const modules = join(folder, "node_modules");
  if (!(await isWhole(modules))) return undefined;
  const versions = await Promise.all([
    readVersion(join(modules, "node-llama-cpp", "package.json")),
    readVersion(join(modules, "@node-llama-cpp", native, "package.json")),
  ]);
  if (versions.some((version) => version !== wanted)) return undefined;
  const entry = createRequire(join(folder, "package.json")).resolve("node-llama-cpp");
  return { folder, moduleUrl: pathToFileURL(entry).href, version: wanted };
}

/** npm writes this file last: without it an install was cut short. */
async function isWhole(modules: string): Promise<boolean> {
  return await access(join(modules, ".package-lock.json")).then(
    () => true,
    () => false,
  );
}

/**
 * Installs the engine with npm, about 85 MB, unless it is there. Reports a line at a time. Throws
 * `LlamaInstallError`.
 */
export async function installLlamaEngine(
  options: InstallOptions,
  onProgress: (line: string) => void,
): Promise<InstalledLlamaEngine> {
  const folder = options.folder ?? defaultLlamaEngineFolder();
  const found = await findLlamaEngine(folder);
  if (found !== undefined) {
    onProgress(`llama engine ${found.version} is installed`);
    return found;
  }
  await prepareFolder(folder);
  const version = await wantedVersion(folder);
  const native = platformPackages[`${platform}-${arch}`];
  if (native === undefined || version === undefined) {
    throw new LlamaInstallError(
      "unsupported_platform",
      `there is no llama.cpp build for ${platform} on ${arch}; use --engine mock`,
    );
  }
  onProgress(`installing the llama engine ${version} for ${native} (about 85 MB)`);
  await runNpm(folder, `@node-llama-cpp/${native}@${version}`, options, onProgress);
  const installed = await findLlamaEngine(folder);
  if (installed === undefined) {
    throw new LlamaInstallError("npm_failed", `npm ended well, but ${folder} holds no engine`);
  }
  onProgress(`llama engine ${installed.version} is installed`);
  return installed;
}

async function runNpm(
  folder: string,
  nativePackage: string,
  options: InstallOptions,
  onProgress: (line: string) => void,
): Promise<void> {
  const [program = "npm", ...before] = options.npm ?? ["npm"];
  const npmArguments = [
    ...before,
    "install",
    "--omit=optional",
    "--no-save",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
    nativePackage,
  ];
  const child = spawn(program, npmArguments, {
    cwd: folder,
    env: withoutNpmVariables(options.env),
    shell: platform === "win32",
    stdio: ["ignore", "pipe", "pipe"],
  });
  killAtExit(child);
  const lines: string[] = [];
  const report = (line: string): void => {
    if (line.trim() === "") return;
    lines.push(line);
    onProgress(line);
  };
  createInterface({ input: child.stdout }).on("line", report);
  createInterface({ input: child.stderr }).on("line", report);
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", () => {
      reject(
        new LlamaInstallError("npm_missing", `${program} cannot be started; is it installed?`),
      );
    });
    child.once("close", (exitCode) => resolve(exitCode ?? 1));
  });
  if (code !== 0) throw explainFailure(lines, folder);
}

function explainFailure(lines: readonly string[], folder: string): LlamaInstallError {
  const text = lines.join("\n");
  if (/ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ERR_SOCKET_TIMEOUT/.test(text)) {
    return new LlamaInstallError(
      "registry_unreachable",
      "the npm registry cannot be reached, so the llama engine cannot be installed; " +
        `try again online with: ${installLlamaCommand}`,
    );
  }
  const last = lines.slice(-3).join("; ");
  return new LlamaInstallError("npm_failed", `npm install in ${folder} failed: ${last}`);
}

/** A folder elsewhere gets the manifest and the lock of the repository's own. */
async function prepareFolder(folder: string): Promise<void> {
  const own = defaultLlamaEngineFolder();
  if ((await wantedVersion(folder)) !== undefined || folder === own) return;
  await mkdir(folder, { recursive: true });
  for (const name of folderFiles) await copyFile(join(own, name), join(folder, name));
}

async function wantedVersion(folder: string): Promise<string | undefined> {
  const manifest = await readJson(join(folder, "package.json"));
  return manifest?.dependencies?.["node-llama-cpp"];
}

async function readVersion(path: string): Promise<string | undefined> {
  return (await readJson(path))?.version;
}

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Undefined if the file is absent or no JSON: a half-made installation counts as none. */
async function readJson(path: string): Promise<Manifest | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Manifest;
  } catch {
    return undefined;
  }
}

/** An outer npm's variables would point npm at the outer project. Settings of the network stay. */
function withoutNpmVariables(env: InstallOptions["env"]): Record<string, string | undefined> {
  const kept = /^npm_config_(registry|cache|userconfig|globalconfig|cafile|.*proxy)$/i;
  const entries = Object.entries(env);
  return Object.fromEntries(
    entries.filter(([name]) => !name.toLowerCase().startsWith("npm_") || kept.test(name)),
  );
}
