// `npm run soak -- [--faults N] [--flat N] [--most-minutes N]`: mixed requests against a cluster of processes over a nats-server.
// First N of them while clients leave and workers are killed: everything that is held must be let go of, and every request
// must end once. Then N while every actor is asked what it holds. After so many minutes of each nothing more is sent. Prints tables; exit code 1 if something is not as it must be.
import { runSoak, type SoakResult } from "../test/support/soak/soak-run.ts";
import { flatnessTable, isAllFlat } from "../test/support/soak/soak-table.ts";
import { scriptOptions, wholeNumber } from "./options.ts";

const { values } = scriptOptions(
  "npm run soak -- [OPTIONS]: clients leave and workers die; then what every actor holds",
  {
    options: {
      faults: { type: "string", default: "10000" },
      flat: { type: "string", default: "200000" },
      seed: { type: "string", default: "1" },
      "in-flight": { type: "string", default: "64" },
      samples: { type: "string", default: "10" },
      "most-minutes": { type: "string", default: "60" },
    },
  },
);
const faults = wholeNumber("--faults", values.faults);
const flat = wholeNumber("--flat", values.flat);
const seed = wholeNumber("--seed", values.seed);
const inFlight = wholeNumber("--in-flight", values["in-flight"]);
const samples = wholeNumber("--samples", values.samples);
const mostMinutes = wholeNumber("--most-minutes", values["most-minutes"]);

// Actors end with this process, and so does nats-server.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

/** The share of requests that a busy machine may cost; more says nothing of the actors. */
const mostStarved = 0.01;
const onProgress = (line: string) => process.stderr.write(`${line}\n`);
const common = {
  seed,
  sendForMs: mostMinutes * 60_000,
  restMs: 6_000,
  leavingShare: 1 / 3,
  onProgress,
};
let isGood = true;
if (faults > 0) {
  const result = await runSoak({
    ...common,
    requests: faults,
    inFlight: inFlight * 2,
    workers: 2,
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
    samples,
  });
  show(`${flat} requests, a third left by its client`, result);
  console.log(`\n${flatnessTable(result.samplesById)}`);
  if (!isAllFlat(result.samplesById)) isGood = false;
}
console.log(isGood ? "\nas it must be" : "\nNOT as it must be");
process.exit(isGood ? 0 : 1);

function show(title: string, result: SoakResult): void {
  const { cancelledIn, clientEnds, kills, lost, seconds, starved, violations } = result;
  console.log(`\n${title}: ${seconds.toFixed(0)} s, ${kills} workers killed`);
  showCounts(clientEnds);
  if (kills > 0) console.log(`  of these by the loss of a worker: ${lost}`);
  if (starved > 0) console.log(`  of these because actors had no CPU for a second: ${starved}`);
  for (const violation of violations) console.log(`  WRONG: ${violation}`);
  console.log("  cancelled inside, by state:");
  showCounts(cancelledIn, "    ");
  const requests = [...clientEnds.values()].reduce((sum, times) => sum + times, 0);
  if (violations.length > 0 || starved > mostStarved * requests) isGood = false;
}

function showCounts(counts: ReadonlyMap<string, number>, indent = "  "): void {
  for (const [what, times] of [...counts].sort(([, a], [, b]) => b - a)) {
    console.log(`${indent}${what}: ${times}`);
  }
}
