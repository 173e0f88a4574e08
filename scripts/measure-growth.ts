// `npx tsx --conditions=@baton/source scripts/measure-growth.ts`: messages and CPU a request as Frontends, routers and workers
// grow in number. Whole clusters with the mock engine on the bus in memory, in virtual time; what runs without requests is
// measured first and subtracted.
import { subjectRow } from "@baton/protocol";
import type { ObservedMessage } from "@baton/runtime";
import { GrowingCluster, type GrowthShape } from "../test/support/simulation/growth.ts";
import { scriptOptions } from "./options.ts";

scriptOptions(
  "npx tsx --conditions=@baton/source scripts/measure-growth.ts: what a request costs as the cluster grows",
  {},
);

const replicas = [1, 4, 16].map((count) => ({ frontends: count, routers: count, workers: 4 }));
const workers = [1, 4, 16, 64, 128].map((count) => ({ frontends: 2, routers: 2, workers: count }));
const load = { count: 300, betweenMs: 10, isMixed: false };
const phaseMs = load.count * load.betweenMs;
const restMs = 1_000;
const rounds = 3;
const leastShown = 0.05;

interface Traffic {
  readonly messages: Map<string, number>;
  readonly deliveries: Map<string, number>;
}

interface Growth {
  readonly shape: GrowthShape;
  readonly cpuMicros: number;
  readonly idleCpuShare: number;
  /** A request. */
  readonly busy: Traffic;
  /** A second without requests. */
  readonly idle: Traffic;
}

await measureAll(
  "Frontends, and routers of each role, beside 4 workers of each role",
  replicas,
  ({ frontends }) => frontends,
);
await measureAll(
  "Workers, half of each role, beside 2 Frontends and 2 routers of each role",
  workers,
  (shape) => 2 * shape.workers,
);

async function measureAll(
  title: string,
  shapes: readonly GrowthShape[],
  sizeOf: (shape: GrowthShape) => number,
): Promise<void> {
  const found: Growth[] = [];
  for (const shape of shapes) found.push(await measure(shape));
  const row = (name: string, cell: (growth: Growth) => string) =>
    console.log(`| ${[name, ...found.map(cell)].join(" | ")} |`);
  console.log(`\n${title}\n`);
  row("", ({ shape }) => String(sizeOf(shape)));
  console.log(`| --- |${found.map(() => " ---: |").join("")}`);
  row("messages a request", ({ busy }) => sum(busy.messages).toFixed(1));
  row("deliveries a request", ({ busy }) => sum(busy.deliveries).toFixed(1));
  row("CPU a request, µs", ({ cpuMicros }) => cpuMicros.toFixed(0));
  row("messages a second at rest", ({ idle }) => sum(idle.messages).toFixed(0));
  row("deliveries a second at rest", ({ idle }) => sum(idle.deliveries).toFixed(0));
  row("CPU at rest, % of a core", ({ idleCpuShare }) => (100 * idleCpuShare).toFixed(1));
  console.log("\nBy kind: messages / deliveries a request\n");
  row("", ({ shape }) => String(sizeOf(shape)));
  console.log(`| --- |${found.map(() => " ---: |").join("")}`);
  for (const kind of kindsOf(found)) {
    row(`\`${kind}\``, ({ busy }) => cellOf(busy, kind));
  }
}

async function measure(shape: GrowthShape): Promise<Growth> {
  const growing = await GrowingCluster.start(shape);
  const { clock, network } = growing.cluster;
  await growing.serve(load); // code is compiled, caches are full
  await clock.advanceBy(restMs);
  const idleCpu = await leastCpuOf(() => clock.advanceBy(phaseMs));
  const busyCpu = await leastCpuOf(() => growing.serve(load));
  await clock.advanceBy(restMs);
  const completedBefore = await growing.serve({ ...load, count: 0 });
  const traffic = newTraffic();
  const counting = network.observe((message) => count(traffic, message));
  await clock.advanceBy(phaseMs);
  const idle = scaled(traffic, 1_000 / phaseMs);
  clear(traffic);
  await growing.serve(load);
  await clock.advanceBy(restMs);
  counting.unsubscribe();
  const completed = (await growing.serve({ ...load, count: 0 })) - completedBefore;
  if (completed < load.count) throw new Error(`only ${completed} requests were completed`);
  const busy = scaled(traffic, 1 / load.count);
  const background = (phaseMs + restMs) / 1_000 / load.count;
  return {
    shape,
    cpuMicros: (busyCpu - idleCpu) / load.count,
    idleCpuShare: idleCpu / 1_000 / phaseMs,
    busy: {
      messages: without(busy.messages, idle.messages, background),
      deliveries: without(busy.deliveries, idle.deliveries, background),
    },
    idle,
  };
}

/** Microseconds, the least of some rounds: what else runs on the machine makes each dearer. */
async function leastCpuOf(run: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    await run();
    const { system, user } = process.cpuUsage(before);
    least = Math.min(least, system + user);
  }
  return least;
}

function newTraffic(): Traffic {
  return { messages: new Map(), deliveries: new Map() };
}

function clear({ deliveries, messages }: Traffic): void {
  messages.clear();
  deliveries.clear();
}

function count({ deliveries, messages }: Traffic, { receivers, subject }: ObservedMessage): void {
  const kind = kindOf(subject);
  messages.set(kind, (messages.get(kind) ?? 0) + 1);
  deliveries.set(kind, (deliveries.get(kind) ?? 0) + receivers);
}

/** A subject without its namespace, model and id. */
function kindOf(subject: string): string {
  if (subject.includes(".inbox.")) return "replies";
  const pattern = subjectRow(subject)?.pattern ?? subject;
  return pattern.replace(/^baton\.(v1|probe)\.<ns>\.(<model>\.|_\.)?/, "").replace(/\.<id>$/, "");
}

function scaled({ deliveries, messages }: Traffic, factor: number): Traffic {
  const times = (figures: Map<string, number>) =>
    new Map([...figures].map(([kind, figure]) => [kind, figure * factor]));
  return { messages: times(messages), deliveries: times(deliveries) };
}

function without(
  busy: Map<string, number>,
  idle: Map<string, number>,
  factor: number,
): Map<string, number> {
  return new Map(
    [...busy].map(([kind, figure]) => [kind, figure - (idle.get(kind) ?? 0) * factor]),
  );
}

function sum(figures: Map<string, number>): number {
  return [...figures.values()].reduce((total, figure) => total + figure, 0);
}

function kindsOf(found: readonly Growth[]): string[] {
  const kinds = new Set(found.flatMap(({ busy }) => [...busy.messages.keys()]));
  return [...kinds].filter((kind) =>
    found.some(({ busy }) => (busy.messages.get(kind) ?? 0) >= leastShown),
  );
}

function cellOf({ deliveries, messages }: Traffic, kind: string): string {
  const figure = (from: Map<string, number>) => Math.max(0, from.get(kind) ?? 0).toFixed(1);
  return `${figure(messages)} / ${figure(deliveries)}`;
}
