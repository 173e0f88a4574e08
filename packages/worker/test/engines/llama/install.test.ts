import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execPath } from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  findLlamaEngine,
  installLlamaEngine,
  LlamaInstallError,
} from "../../../src/engines/llama/install.ts";

let base = "";

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "baton-install-"));
});

afterAll(async () => {
  await rm(base, { recursive: true });
});

/** A program in npm's place. It sees the folder as its working directory. */
async function fakeNpm(name: string, body: string): Promise<readonly string[]> {
  const path = join(base, `${name}.mjs`);
  await writeFile(path, body);
  await chmod(path, 0o700);
  return [execPath, path];
}

const installsBoth = `
import { mkdirSync, writeFileSync } from "node:fs";
const native = process.argv.at(-1).replace(/@[^@]+$/, "");
const version = process.argv.at(-1).match(/[^@]+$/)[0];
for (const name of ["node-llama-cpp", native]) {
  mkdirSync("node_modules/" + name, { recursive: true });
  const manifest = { name, version, main: "index.js" };
  writeFileSync("node_modules/" + name + "/package.json", JSON.stringify(manifest));
  writeFileSync("node_modules/" + name + "/index.js", "");
}
writeFileSync("node_modules/.package-lock.json", "{}");
writeFileSync("seen.json", JSON.stringify({ argv: process.argv, env: process.env }));
console.log("added 117 packages");
`;

describe("installLlamaEngine", () => {
  it("installs node-llama-cpp and the host's native package into a folder of its own", async () => {
    const folder = join(base, "fresh");
    const npm = await fakeNpm("good", installsBoth);
    const lines: string[] = [];
    const env = { PATH: "/bin", npm_config_local_prefix: "/outer", npm_config_registry: "r" };
    const installed = await installLlamaEngine({ env, folder, npm }, (line) => lines.push(line));
    expect(installed.version).toBe("3.22.1");
    expect(installed.moduleUrl).toMatch(/^file:.*node-llama-cpp/);
    expect(lines).toContain("added 117 packages");
    const seen = JSON.parse(await readFile(join(folder, "seen.json"), "utf8")) as {
      argv: string[];
      env: Record<string, string>;
    };
    expect(seen.argv).toContain("--omit=optional");
    expect(seen.env.npm_config_registry).toBe("r");
    expect(seen.env.npm_config_local_prefix).toBeUndefined();
  });

  it("does nothing when the engine is there", async () => {
    const folder = join(base, "fresh");
    const npm = await fakeNpm("never", "process.exit(1)");
    const installed = await installLlamaEngine({ env: {}, folder, npm }, () => {});
    expect(installed.folder).toBe(folder);
  });

  it("installs again what npm was cut short in", async () => {
    const folder = join(base, "cut");
    const npm = await fakeNpm("good-again", installsBoth);
    await installLlamaEngine({ env: {}, folder, npm }, () => {});
    await rm(join(folder, "node_modules", ".package-lock.json"));
    expect(await findLlamaEngine(folder)).toBeUndefined();
    await installLlamaEngine({ env: {}, folder, npm }, () => {});
    expect(await findLlamaEngine(folder)).toMatchObject({ version: "3.22.1" });
  });

  it("says that the registry cannot be reached, and what to type later", async () => {
    const npm = await fakeNpm(
      "offline",
      "console.error('npm error code ENOTFOUND'); process.exit(1)",
    );
    const attempt = installLlamaEngine({ env: {}, folder: join(base, "offline"), npm }, () => {});
    await expect(attempt).rejects.toThrow(/cannot be reached.*npx baton engine install llama/);
    await expect(attempt).rejects.toMatchObject({ problem: "registry_unreachable" });
  });

  it("reports any other failure of npm with its last lines", async () => {
    const npm = await fakeNpm("broken", "console.error('disk is full'); process.exit(2)");
    const attempt = installLlamaEngine({ env: {}, folder: join(base, "broken"), npm }, () => {});
    await expect(attempt).rejects.toThrow(/disk is full/);
  });

  it("says when npm itself is missing", async () => {
    const npm = [join(base, "no-such-npm")];
    const attempt = installLlamaEngine({ env: {}, folder: join(base, "none"), npm }, () => {});
    await expect(attempt).rejects.toThrow(LlamaInstallError);
    await expect(attempt).rejects.toMatchObject({ problem: "npm_missing" });
  });
});

describe("findLlamaEngine", () => {
  it("finds nothing in an empty folder, and nothing half installed", async () => {
    expect(await findLlamaEngine(join(base, "nowhere"))).toBeUndefined();
    const folder = join(base, "half");
    await mkdir(join(folder, "node_modules", "node-llama-cpp"), { recursive: true });
    await writeFile(
      join(folder, "package.json"),
      JSON.stringify({ dependencies: { "node-llama-cpp": "3.22.1" } }),
    );
    await writeFile(
      join(folder, "node_modules", "node-llama-cpp", "package.json"),
      JSON.stringify({ version: "3.22.1" }),
    );
    expect(await findLlamaEngine(folder)).toBeUndefined();
  });
});
