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

/** The line that ends a run; before it what was skipped for want of something, with the command that helps, and what needed a second try. */
function summary(file) {
  try {
    const report = JSON.parse(readFileSync(file, "utf8"));
    const { numPassedTests, numFailedTests, numPendingTests } = report;
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : "";
    return [
      ...skippedSuites(report),
      ...secondTries(report),
      `${numPassedTests} passed, ${numFailedTests} failed${skipped}`,
    ].join("\n");
  } catch {
    return "0 passed, 1 failed";
  }
}

/** Titles of suites that say why they were skipped. */
function skippedSuites({ testResults }) {
  const titles = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "skipped" || status === "pending")
    .flatMap(({ ancestorTitles }) =>
      ancestorTitles.filter((title) => / \((?:skipped: |no )/.test(title)),
    );
  return [...new Set(titles)].map((title) => `skipped: ${title}`);
}

/** Tests that passed after they had failed. */
function secondTries({ testResults }) {
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status, failureMessages }) => status === "passed" && failureMessages.length > 0)
    .map(({ fullName }) => `passed at the second try: ${fullName}`);
}
