/**
 * Measures the flat index beside the tree, in one run, as a table:
 *
 *     npx tsx --conditions=@baton/source packages/kv-router/bench/prefix-index/measure.ts TRACE [ROUNDS]
 *
 * Memory of the sets and tables is what the index says of itself.
 */
import {
  createFlatIndex,
  createOverlaps,
  createRadixTree,
  type IndexJob,
  type PrefixIndex,
  type RankLoad,
} from "../../src/index.ts";
import {
  apply,
  hashesOf,
  readPrompts,
  serve,
  type TrafficStep,
} from "../../test/prefix-index/trace-traffic.ts";

const [path, roundsText = "5"] = process.argv.slice(2);
if (path === undefined) throw new Error("name a trace in Mooncake's format");
const rounds = Number(roundsText);
const prompts = readPrompts(path);
const print = (line: string) => process.stdout.write(`${line}\n`);

interface Measured {
  readonly blockOpsPerSecond: number;
  readonly updatesPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly bytesPerBlock: number;
}

function run(index: PrefixIndex, steps: readonly TrafficStep[]): Measured {
  const overlaps = createOverlaps();
  const finds: number[] = [];
  let updated = 0;
  let asked = 0;
  let findMs = 0;
  const started = performance.now();
  for (const step of steps) {
    if (step.kind === "find") {
      const from = performance.now();
      index.find(step.hashes, overlaps);
      const took = performance.now() - from;
      findMs += took;
      finds.push(took);
      asked += step.hashes.length / 8;
    } else {
      apply(index, step);
      updated += step.hashes.length / 8;
    }
  }
  const totalMs = performance.now() - started;
  return {
    blockOpsPerSecond: ((updated + asked) / totalMs) * 1_000,
    updatesPerSecond: (updated / (totalMs - findMs)) * 1_000,
    ...percentiles(finds),
    bytesPerBlock: index.bytes / index.blocks,
  };
}

/** In µs. */
function percentiles(times: readonly number[]): { p50: number; p99: number } {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]! * 1_000;
  return { p50: at(0.5), p99: at(0.99) };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
}

function middle(measured: readonly Measured[]): Measured {
  const of = (key: keyof Measured) => median(measured.map((one) => one[key]));
  return {
    blockOpsPerSecond: of("blockOpsPerSecond"),
    updatesPerSecond: of("updatesPerSecond"),
    p50: of("p50"),
    p99: of("p99"),
    bytesPerBlock: of("bytesPerBlock"),
  };
}

function row(name: string, measured: Measured): void {
  const { blockOpsPerSecond, updatesPerSecond, p50, p99, bytesPerBlock } = measured;
  print(
    `  ${name.padEnd(6)}${(blockOpsPerSecond / 1e6).toFixed(2).padStart(8)} M block-ops/s` +
      `${(updatesPerSecond / 1e6).toFixed(2).padStart(8)} M updates/s` +
      `   find p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} µs   ${bytesPerBlock.toFixed(1)} B/block`,
  );
}

function compare(workers: number, capacity: number, parts: number): void {
  print(`${workers} workers of ${capacity} blocks, blocks of ${512 / parts} tokens`);
  const steps = serve(prompts, { workers, capacity, parts });
  const tree: Measured[] = [];
  const flat: Measured[] = [];
  for (let round = 0; round < rounds + 1; round += 1) {
    tree.push(run(createRadixTree(), steps));
    flat.push(run(createFlatIndex(), steps));
  }
  const [one, other] = [middle(tree.slice(1)), middle(flat.slice(1))];
  row("tree", one);
  row("flat", other);
  const ratio = (key: keyof Measured) => (other[key] / one[key]).toFixed(2);
  print(
    `  ratio ${ratio("blockOpsPerSecond").padStart(8)}${ratio("updatesPerSecond").padStart(22)}` +
      `                   p50 ${ratio("p50")} p99 ${ratio("p99")}`,
  );
}

/** An index of `blocks` blocks on `workers` ranks: prompts of 512 blocks, a quarter of each shared with 15 others. */
function filled(workers: number, blocks: number): PrefixIndex {
  const index = createFlatIndex();
  for (let prompt = 0; prompt * 384 < blocks; prompt += 1) {
    index.store(prompt % workers, "device", null, promptOf(prompt));
    if (prompt % 4 === 0) index.store((prompt + 1) % workers, "device", null, promptOf(prompt));
  }
  return index;
}

function promptOf(prompt: number): Uint8Array {
  const shared = Math.floor(prompt / 16) * 128;
  const ids = Array.from({ length: 512 }, (_, at) =>
    at < 128 ? shared + at : 1e9 + prompt * 384 + at - 128,
  );
  return hashesOf(ids);
}

function scale(workers: number, blocks: number): { p50: number; p99: number } {
  const index = filled(workers, blocks);
  const overlaps = createOverlaps();
  const asked = Array.from({ length: 4_000 }, (_, at) =>
    promptOf(Math.floor((at * 7_919) % (blocks / 384))),
  );
  const times: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    for (const hashes of asked) {
      const from = performance.now();
      index.find(hashes, overlaps);
      if (round > 0) times.push(performance.now() - from);
    }
  }
  const result = percentiles(times);
  print(
    `  ${workers} workers, ${index.blocks} blocks: find of 512 blocks p50 ${result.p50.toFixed(2)}` +
      ` p99 ${result.p99.toFixed(2)} µs, ${(index.bytes / index.blocks).toFixed(1)} B/block`,
  );
  return result;
}

/** Milliseconds of processor time that a call takes: on a busy machine the clock on the wall says little. */
function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function longest(job: IndexJob, maxBlocks: number): string {
  const steps: number[] = [];
  for (let done = false; !done; ) {
    steps.push(
      cpuMs(() => {
        done = job.step(maxBlocks);
      }),
    );
  }
  const all = steps.reduce((sum, ms) => sum + ms, 0);
  const { p99 } = percentiles(steps);
  return (
    `${steps.length} steps of ${maxBlocks}, p99 ${(p99 / 1_000).toFixed(2)} ms,` +
    ` longest ${Math.max(...steps).toFixed(2)} ms, all ${all.toFixed(0)} ms`
  );
}

/** Loads a rank with 2 M blocks; returns the longest store, ms. */
function fill(load: RankLoad): number {
  let slowest = 0;
  for (let at = 0; at * 384 < 2e6; at += 1) {
    const hashes = promptOf(at);
    slowest = Math.max(
      slowest,
      cpuMs(() => load.store("device", null, hashes)),
    );
  }
  return slowest;
}

function jobs(): void {
  const index = createFlatIndex();
  const load = index.loadRank(0);
  const slowest = fill(load);
  print(
    `  a load of ${index.blocks} blocks in runs of 512: longest store ${slowest.toFixed(2)} ms`,
  );
  print(`  its commit: ${longest(load.commit(), 8_192)}`);
  const again = index.loadRank(0);
  print(`  a load of as much beside it: longest store ${fill(again).toFixed(2)} ms`);
  print(`  its commit, which frees the old: ${longest(again.commit(), 8_192)}`);
  print(`  removal of the rank: ${longest(index.removeRank(0), 8_192)}`);
}

print(`${prompts.length} prompts, ${rounds} rounds, medians`);
compare(16, 16_384, 1);
compare(128, 16_384, 1);
compare(16, 65_536, 8);
print("size");
const few = scale(64, 1e5);
const base = scale(64, 1e6);
const many = scale(640, 1e6);
const more = scale(64, 1e7);
print(
  `  10× the blocks: p50 ${(base.p50 / few.p50).toFixed(2)}×, ${(more.p50 / base.p50).toFixed(2)}×`,
);
print(`  10× the workers: p50 ${(many.p50 / base.p50).toFixed(2)}×`);
print("jobs at 2 M blocks");
jobs();
