// `npm run soak -- [--faults N] [--flat N] [--seed N]`: mixed requests against a cluster of processes over a nats-server.
// First N of them while clients leave and workers are killed: everything that is held must be let go of, and every request
// must end once. Then N while every actor is asked what it holds. Prints tables; exit code 1 if something is not as it must be.
import { parseArgs } from "node:util";
import { runSoak, type SoakResult } from "../test/support/soak/soak-run.ts";
import { flatnessTable, isAllFlat } from "../test/support/soak/soak-table.ts";

const { values } = parseArgs({
  options: {
    faults: { type: "string", default: "10000" },
    flat: { type: "string", default: "200000" },
    seed: { type: "string", default: "1" },
    "in-flight": { type: "string", default: "64" },
    "most-minutes": { type: "string", default: "60" },
  },
});
const faults = wholeNumber("--faults", values.faults);
const flat = wholeNumber("--flat", values.flat);
const seed = wholeNumber("--seed", values.seed);
const inFlight = wholeNumber("--in-flight", values["in-flight"]);
const mostMinutes = wholeNumber("--most-minutes", values["most-minutes"]);

// Actors end with this process, and so does nats-server.
setTimeout(() => {
  console.error(`not over after ${mostMinutes} minutes`);
  process.exit(1);
}, mostMinutes * 60_000).unref();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

/** The share of requests that a busy machine may cost; more says nothing of the actors. */
const mostStarved = 0.01;
const onProgress = (line: string) => process.stderr.write(`${line}\n`);
const common = { seed, restMs: 6_000, leavingShare: 1 / 3, onProgress };
let isGood = true;
if (faults > 0) {
  const result = await runSoak({
    ...common,
    requests: faults,
    inFlight: inFlight * 2,
    workers: 3,
    killedShare: 0.1,
    samples: 0,
  });
  show(`${faults} requests, a third left by its client, a tenth with a killed worker`, result);
}
if (flat > 0) {
  const result = await runSoak({
    ...common,
    requests: flat,
    inFlight,
    workers: 2,
    killedShare: 0,
    samples: 10,
  });
  show(`${flat} requests, a third left by its client`, result);
  console.log(`\n${flatnessTable(result.samplesById)}`);
  if (!isAllFlat(result.samplesById)) isGood = false;
}
console.log(isGood ? "\nas it must be" : "\nNOT as it must be");
process.exit(isGood ? 0 : 1);

function show(title: string, result: SoakResult): void {
  const { clientEnds, kills, seconds, starved, violations } = result;
  const ends = [...clientEnds].sort(([, a], [, b]) => b - a);
  console.log(`\n${title}: ${seconds.toFixed(0)} s, ${kills} workers killed`);
  for (const [end, times] of ends) console.log(`  ${end}: ${times}`);
  if (starved > 0) console.log(`  of these because actors had no CPU for a second: ${starved}`);
  for (const violation of violations) console.log(`  WRONG: ${violation}`);
  const requests = [...clientEnds.values()].reduce((sum, times) => sum + times, 0);
  if (violations.length > 0 || starved > mostStarved * requests) isGood = false;
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`${option}: ${JSON.stringify(text)} is not a whole number`);
  process.exit(2);
}
