// `npm test [-- VITEST OPTIONS]`: sets up a fresh clone, runs every test, and ends with `N passed, N failed`.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, installPackages, requireNode, root } from "./setup.mjs";

requireNode(20);
await installPackages();
await build();
const folder = mkdtempSync(join(tmpdir(), "baton-test-"));
const report = join(folder, "report.json");
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
const { status } = spawnSync(
  process.execPath,
  [
    vitest,
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: "inherit" },
);
process.stdout.write(`${summary(report)}\n`);
rmSync(folder, { recursive: true, force: true });
process.exit(status ?? 1);

function summary(file) {
  try {
    const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(
      readFileSync(file, "utf8"),
    );
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : "";
    return `${numPassedTests} passed, ${numFailedTests} failed${skipped}`;
  } catch {
    return "0 passed, 1 failed";
  }
}
