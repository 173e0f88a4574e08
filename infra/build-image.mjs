// `node infra/build-image.mjs [--base IMAGE] [--tag TAG]`: builds the image of every actor from this checkout. Plain
// JavaScript without dependencies, after `npm ci`.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build, installPackages, requireNode, root } from "../scripts/setup.mjs";

requireNode(20);
const { values } = parseArgs({
  options: {
    base: { type: "string", default: "node:20-bookworm-slim" },
    tag: { type: "string", default: "baton:local" },
  },
});
await installPackages();
await build();
const context = mkdtempSync(join(tmpdir(), "baton-image-"));
let status = 1;
try {
  stage(context);
  const before = imageId();
  ({ status } = spawnSync(
    "docker",
    ["build", "-q", "--build-arg", `BASE_IMAGE=${values.base}`, "-t", values.tag, context],
    { stdio: ["ignore", "inherit", "inherit"] },
  ));
  // What the tag named before is nobody's any more, unless a container still runs it.
  if (status === 0 && before !== "" && imageId() !== before) {
    spawnSync("docker", ["rmi", before], { stdio: "ignore" });
  }
} finally {
  rmSync(context, { recursive: true });
}
process.exit(status ?? 1);

/** The id of the image that has the tag; empty if none has. */
function imageId() {
  const found = spawnSync("docker", ["image", "inspect", "--format", "{{.Id}}", values.tag]);
  return found.status === 0 ? found.stdout.toString().trim() : "";
}

/** Copies what runs: our packages as compiled, and what the lock file has for production. */
function stage(folder) {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const needed = neededPackages();
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!path.startsWith("node_modules/") || entry.dev || !existsSync(join(root, path))) continue;
    if (!entry.link) copy(folder, path, isRun);
    else if (needed.has(entry.resolved)) link(folder, path, entry.resolved);
  }
  for (const path of needed) {
    // What it would ship, were it published.
    const { files, bin } = readPackage(path);
    for (const part of ["package.json", ...files, ...Object.values(bin ?? {})]) {
      copy(folder, join(path, part), isRun);
    }
  }
  copy(folder, "package.json");
  cpSync(fileURLToPath(new URL("Dockerfile", import.meta.url)), join(folder, "Dockerfile"));
}

/** Folders of the packages that the command is made of. */
function neededPackages() {
  const found = new Set();
  const visit = (path) => {
    if (found.has(path)) return;
    found.add(path);
    const { dependencies = {} } = readPackage(path);
    for (const name of Object.keys(dependencies)) {
      if (name.startsWith("@baton/")) visit(name.replace("@baton/", "packages/"));
    }
  };
  visit("packages/cli");
  return found;
}

function readPackage(path) {
  return JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
}

function copy(folder, path, filter = () => true) {
  cpSync(join(root, path), join(folder, path), { recursive: true, filter });
}

function link(folder, path, target) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  symlinkSync(join("..", "..", target), join(folder, path));
}

/** Leaves out what is for compilers and people. */
function isRun(path) {
  if (/[\\/]node_modules[\\/]\.bin$/.test(path)) return false;
  return !/\.(?:d\.[cm]?ts|map|md|markdown|tsbuildinfo)$/.test(path);
}
