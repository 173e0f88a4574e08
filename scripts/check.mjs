// `npm run check`: everything that the gate checks without running tests.
import { join } from "node:path";
import { build, installPackages, requireNode, root, run } from "./setup.mjs";

requireNode(20);
await installPackages();
const bin = (name) => join(root, "node_modules", ".bin", name);
const steps = [
  ["format and lint", bin("biome"), ["ci", "--colors=off", "."]],
  ["layers", bin("turbo"), ["boundaries", "--no-color"], { TURBO_TELEMETRY_DISABLED: "1" }],
  ["types of packages", null, []],
  ["types of tests", bin("tsc"), ["-p", "tsconfig.test.json"]],
  ["nothing unused", bin("knip"), ["--no-progress", "--no-config-hints"]],
  [
    "generated files are current",
    bin("tsx"),
    ["--conditions=@baton/source", "scripts/generate-docs.ts", "--check"],
  ],
];
for (const [title, command, args, env = {}] of steps) {
  process.stderr.write(`— ${title}\n`);
  if (command === null) await build();
  else await run(command, args, { env: { ...process.env, ...env } });
}
