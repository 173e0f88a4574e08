import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { refuseOptions, scriptOptions, wholeNumber } from "./options.ts";
import { sixHops } from "./speed/six-hops.ts";
import {
  type MeasuredSystem,
  type SystemOptions,
  startBare,
  startBaton,
  startDynamo,
  startNginx,
} from "./speed/systems.ts";
import { type SystemName, type Workload, workloads } from "./speed/workloads.ts";

// Baton beside NVIDIA Dynamo, nginx and a bare server, on the same bodies, in turn: medians [least–most] of all rounds but the
// first, and each system's figures divided by those of the first one in its row. Names of workloads are its arguments; none: all.
// The load generator and Dynamo's script are those of `../shared/peers`; without --dynamo it is left out.

const { values, positionals } = scriptOptions(
  "npx tsx --conditions=@baton/source scripts/measure-speed.ts --model FOLDER [OPTIONS] [WORKLOAD…]: Baton beside its peers",
  {
    allowPositionals: true,
    options: {
      load: { type: "string", default: "load" },
      model: { type: "string" },
      dynamo: { type: "string" },
      rounds: { type: "string", default: "6" },
      "router-mode": { type: "string", default: "kv" },
    },
  },
);
const { model } = values;
if (model === undefined) refuseOptions("--model FOLDER is needed: what make-model.py writes");
const rounds = wholeNumber("--rounds", values.rounds);

type Row = Readonly<Record<string, number>>;

const starters: Record<SystemName, (options: SystemOptions) => Promise<MeasuredSystem>> = {
  baton: startBaton,
  aggregated: (options) => startBaton({ ...options, aggregated: true }),
  dynamo: startDynamo,
  nginx: startNginx,
  bare: startBare,
};
/** The processes that stand between client and bus. */
const frontends = ["frontend", "nginx", "bare"];

for (const name of positionals.length > 0 ? positionals : Object.keys(workloads)) {
  const workload = workloads[name];
  if (workload === undefined) throw new Error(`no workload ${name}: ${Object.keys(workloads)}`);
  process.stdout.write(`\n## ${name}: load ${workload.load}\n`);
  print(workload, await measure(workload));
  if (name !== "first-token") continue;
  const hops = (await sixHops(600)).slice(300);
  process.stdout.write(`  six bare NATS hops p50 ${number(median(hops))} ms\n`);
}

async function measure(workload: Workload): Promise<Map<SystemName, Row[]>> {
  const names = workload.systems.filter((name) => name !== "dynamo" || values.dynamo !== undefined);
  const options: SystemOptions = {
    model: model ?? "",
    dynamo: values.dynamo ?? null,
    stepMs: 0,
    aggregated: false,
    routerMode: values["router-mode"],
    ...workload.options,
  };
  const running = new Map<SystemName, MeasuredSystem>();
  const rows = new Map<SystemName, Row[]>(names.map((name) => [name, []]));
  try {
    for (const name of names) running.set(name, await starters[name](options));
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, system] of running) {
        rows.get(name)?.push(loadOnce(system, workload, round));
      }
    }
  } finally {
    for (const system of running.values()) await system.stop();
  }
  return rows;
}

function loadOnce(system: MeasuredSystem, workload: Workload, round: number): Row {
  const folder = mkdtempSync(join(tmpdir(), "baton-speed-"));
  try {
    const file = join(folder, "round.json");
    const pids = Object.entries(system.pids).map(([name, pid]) => `${name}=${pid}`);
    execFileSync(values.load, [
      ...["--url", system.url, "--model", "tiny", "--pids", pids.join(",")],
      ...["--rounds", "1", "--seed", String(100 + round), "--json", file],
      ...workload.load.split(" "),
    ]);
    return withSums(JSON.parse(readFileSync(file, "utf8")), workload.per);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** CPU microseconds of all processes, and of those that clients talk to. */
function withSums(row: Row, per: Workload["per"]): Row {
  const start = `cpu_us_per_${per}.`;
  const parts = Object.entries(row).filter(([key]) => key.startsWith(start));
  const sum = (entries: typeof parts) => entries.reduce((total, [, value]) => total + value, 0);
  const isFrontend = ([key]: (typeof parts)[number]) => frontends.includes(key.slice(start.length));
  return { ...row, cpu: sum(parts), "cpu.frontend": sum(parts.filter(isFrontend)) };
}

function print(workload: Workload, rows: ReadonlyMap<SystemName, readonly Row[]>): void {
  const [first = []] = rows.values();
  for (const figure of workload.figures) {
    const cells = [...rows].map(([name, all]) => {
      const found = all.slice(1).map((row) => row[figure] ?? Number.NaN);
      const ratios = found.map((value, at) => value / (first[at + 1]?.[figure] ?? Number.NaN));
      const range = `[${number(Math.min(...found))}–${number(Math.max(...found))}]`;
      return `${name} ${number(median(found))} ${range} ×${median(ratios).toFixed(2)}`;
    });
    process.stdout.write(`${figure.padEnd(14)} ${cells.join(" | ")}\n`);
  }
  for (const [name, all] of rows) {
    const others = median(all.slice(1).map((row) => (row.other_cpu_s ?? 0) / (row.wall_s ?? 1)));
    const errors = all.reduce((total, row) => total + (row.errors ?? 0), 0);
    const start = `cpu_us_per_${workload.per}.`;
    const parts = Object.keys(all[0] ?? {})
      .filter((key) => key.startsWith(start))
      .map(
        (key) => `${key.slice(start.length)} ${number(median(all.map((row) => row[key] ?? 0)))}`,
      );
    process.stdout.write(
      `  ${name}: CPU µs a ${workload.per} ${parts.join(", ")}; others ${number(others)} cores; errors ${errors}\n`,
    );
  }
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(2);
}
