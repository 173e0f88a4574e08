// `npm run simulate -- --from N --count N [--processes N] [--no-shrink]`: runs whole clusters from seeds, says what broke
// and the smallest plan that breaks it. `--count 1 [--faults 0,2] [--requests 1,5] [--verbose]`: one seed, or a part of it.
import { availableParallelism } from "node:os";
import { describePlan, repeatCommand } from "../test/support/simulation/describe-plan.ts";
import type { SimulationPlan } from "../test/support/simulation/plan.ts";
import { planSimulation } from "../test/support/simulation/plan-simulation.ts";
import { runPlan } from "../test/support/simulation/run-seed.ts";
import { type PooledRun, runSeeds } from "../test/support/simulation/seed-pool.ts";
import { SeedReport } from "../test/support/simulation/seed-report.ts";
import { showingMessages } from "../test/support/simulation/show-messages.ts";
import { keepOnly } from "../test/support/simulation/shrink-plan.ts";
import { smallestFailure } from "../test/support/simulation/smallest-failure.ts";
import { scriptOptions, wholeNumber } from "./options.ts";

const { values } = scriptOptions(
  "npm run simulate -- [OPTIONS]: whole clusters in virtual time, by seed",
  {
    options: {
      from: { type: "string", default: "1" },
      count: { type: "string", default: "100" },
      processes: { type: "string", default: String(availableParallelism()) },
      faults: { type: "string" },
      requests: { type: "string" },
      "no-shrink": { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
    },
  },
);
const progressEverySeconds = 30;
const from = wholeNumber("--from", values.from);
const count = wholeNumber("--count", values.count);
const broken = count === 1 ? await runOne(from) : await runMany();
process.exitCode = broken === 0 ? 0 : 1;

async function runOne(seed: number): Promise<number> {
  const whole = planSimulation(seed);
  const plan = keepOnly(whole, {
    faults: indices("--faults", values.faults, whole.faults.length),
    requests: indices("--requests", values.requests, whole.requests.length),
  });
  for (const line of describePlan(plan)) console.log(line);
  const run = await runPlan(plan, values.verbose ? showingMessages(console.log) : {});
  for (const violation of run.violations) console.log(`broken: ${violation}`);
  console.log(`digest ${run.digest}\n${JSON.stringify(run.stats)}`);
  const isPart = values.faults !== undefined || values.requests !== undefined;
  if (run.violations.length > 0 && !isPart) await shrink(plan, run.violations);
  return run.violations.length;
}

async function runMany(): Promise<number> {
  const startedAtMs = performance.now();
  const seconds = () => (performance.now() - startedAtMs) / 1_000;
  const report = new SeedReport();
  const broken: { readonly seed: number; readonly violations: readonly string[] }[] = [];
  let done = 0;
  let toldAt = 0;
  const take = (run: PooledRun) => {
    done += 1;
    if ("stats" in run) report.add(run.stats);
    const violations = "problem" in run ? [run.problem] : run.violations;
    if (violations.length > 0) {
      broken.push({ seed: run.seed, violations });
      console.log([repeatCommand(run.seed), ...violations].join("\n  "));
    }
    if (seconds() - toldAt < progressEverySeconds) return;
    toldAt = seconds();
    const rate = (done / toldAt).toFixed(1);
    console.error(`${done}/${count} seeds, ${rate} a second, ${broken.length} broken`);
  };
  const seeds = Array.from({ length: count }, (_, index) => from + index);
  await runSeeds(seeds, wholeNumber("--processes", values.processes), take);
  for (const line of report.coverage) console.log(line);
  console.log(
    `${count} seeds from ${from} in ${seconds().toFixed(1)} s, ${(count / seconds()).toFixed(1)} a second, ${broken.length} broken: ${report.summary}`,
  );
  for (const { seed, violations } of broken) await shrink(planSimulation(seed), violations);
  return broken.length;
}

async function shrink(plan: SimulationPlan, violations: readonly string[]): Promise<void> {
  if (values["no-shrink"]) return;
  const lines = await smallestFailure(plan, violations);
  console.log(["the smallest that is left:", ...lines].join("\n  "));
}

/** `none`, or indices with commas between them; absent: all. */
function indices(option: string, text: string | undefined, length: number): readonly number[] {
  if (text === undefined) return Array.from({ length }, (_, index) => index);
  return text === "none" ? [] : text.split(",").map((part) => wholeNumber(option, part));
}
