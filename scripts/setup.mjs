// What a fresh clone needs before anything of ours can run. Plain JavaScript without dependencies: it runs before
// `npm ci` has.
import { spawnSync } from "node:child_process";
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

/** Runs a command in the checkout with its output on stderr; ends this process with its code if it fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], ...options });
  if (result.error) process.stderr.write(`${command}: ${result.error.message}\n`);
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** Installs the packages of the lock file, unless they stand already. */
export function installPackages() {
  const installed = join(root, "node_modules", ".package-lock.json");
  const lock = join(root, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  process.stderr.write("installing packages (npm ci) …\n");
  run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
}

/** Compiles what has changed. */
export function build() {
  run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-b"]);
}
