import type { SystemOptions } from "./systems.ts";

/** One of the systems that can be measured. */
export type SystemName = "baton" | "aggregated" | "dynamo" | "nginx" | "bare";

/** What a load generator does to systems, in turn. */
export interface Workload {
  readonly systems: readonly SystemName[];
  readonly options: Partial<SystemOptions>;
  readonly load: string;
  /** Figures to print, by the names of the load generator's JSON; `cpu` and `cpu.frontend` are summed here. */
  readonly figures: readonly string[];
  /** What the CPU is divided by. */
  readonly per: "req" | "tok";
}

const latencies = ["ttft_p50_ms", "ttft_p95_ms", "ttft_p99_ms"];
const one = "--c 1 --max-tokens 2 --stream";

/** Every figure of the speed page has one of these. */
export const workloads: Readonly<Record<string, Workload>> = {
  requests: {
    systems: ["dynamo", "baton"],
    options: {},
    load: "--c 64 --n 3000 --max-tokens 8",
    figures: ["req_s", "cpu", "cpu.frontend", "ttft_p99_ms"],
    per: "req",
  },
  tokens: {
    systems: ["dynamo", "baton"],
    options: {},
    load: "--c 64 --n 256 --max-tokens 256 --stream",
    figures: ["tok_s", "cpu", "cpu.frontend"],
    per: "tok",
  },
  "first-token": {
    systems: ["dynamo", "baton"],
    options: {},
    load: `${one} --n 300 --quickack`,
    figures: latencies,
    per: "req",
  },
  "first-token-ordinary": {
    systems: ["dynamo", "baton"],
    options: {},
    load: `${one} --n 150`,
    figures: latencies,
    per: "req",
  },
  "first-token-fresh": {
    systems: ["dynamo", "baton"],
    options: {},
    load: `${one} --n 150 --fresh`,
    figures: latencies,
    per: "req",
  },
  "open-loop": {
    systems: ["bare", "baton"],
    options: {},
    load: "--mode open --rate 200 --n 2000 --max-tokens 2 --stream --quickack",
    figures: latencies,
    per: "req",
  },
  paced: {
    systems: ["nginx", "dynamo", "baton"],
    options: { stepMs: 10 },
    load: "--c 256 --n 768 --max-tokens 128 --stream",
    figures: ["tok_s", "cpu.frontend"],
    per: "tok",
  },
  "one-token": {
    systems: ["nginx", "aggregated", "baton"],
    options: {},
    load: "--c 64 --n 4000 --max-tokens 1",
    figures: ["req_s", "cpu.frontend"],
    per: "req",
  },
};
