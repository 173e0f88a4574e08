// What a fresh clone needs before anything of ours can run. Plain JavaScript without dependencies: it runs before
// `npm ci` has.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout's root. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Ends with a clear sentence on a Node that is too old. */
export function requireNode(major) {
  const found = Number(process.versions.node.split(".")[0]);
  if (found >= major) return;
  process.stderr.write(`baton needs Node ${major} or later; this is ${process.versions.node}\n`);
  process.exit(1);
}

/**
 * Runs a command in the checkout with its output on stderr; ends this process with its code if it fails. A signal
 * ends the command with what it started, by force after two seconds, and then this process: npm may tidy up for half a
 * minute, and begins anew the next time anyway.
 */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ["ignore", 2, 2],
    detached: true,
    ...options,
  });
  const killAll = (signal) => {
    try {
      process.kill(-child.pid, signal);
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  const pass = (signal) => {
    killAll(signal);
    setTimeout(killAll, 2000, "SIGKILL").unref();
  };
  process.on("SIGINT", pass).on("SIGTERM", pass);
  const [code, signal] = await once(child, "exit").catch((error) => {
    process.stderr.write(`${command}: ${error.message}\n`);
    return [1, null];
  });
  process.off("SIGINT", pass).off("SIGTERM", pass);
  if (signal !== null) {
    killAll("SIGKILL");
    process.kill(process.pid, signal);
  }
  if (code !== 0) process.exit(code ?? 1);
}

/** Installs the packages of the lock file, unless they stand already. */
export async function installPackages() {
  const installed = join(root, "node_modules", ".package-lock.json");
  const lock = join(root, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  process.stderr.write("installing packages (npm ci) …\n");
  await run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
}

/** Compiles what has changed. */
export async function build() {
  if (!existsSync(join(root, "packages", "cli", "dist", "index.js"))) {
    process.stderr.write("compiling …\n");
  }
  await run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-b"]);
}
