import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { checkPolicyParameters, routerModes } from "@baton/kv-router";
import { ServingError } from "@baton/protocol";
import {
  htmlReport,
  type OwnRouting,
  type ReplayOptions,
  type ReplayPolicy,
  readTraceFile,
  replay,
  summaryText,
} from "@baton/replay";
import { diskSources, loadPolicy } from "@baton/routing";
import { defineOptions, type OptionSet, readOptions } from "@baton/runtime";
import { z } from "zod";
import type { CommandIo } from "../command-io.ts";
import { progressBar } from "../progress-bar.ts";
import { coreOfStage } from "../replay-policy.ts";

const policies = routerModes.filter((mode): mode is ReplayPolicy => mode !== "direct");
const defaultWorkers = 8;

const workers = z.coerce.number().int().min(1).optional();
const limitMs = z.coerce.number().min(0).optional();
const delayMs = z.coerce.number().min(0).default(0);

/** Options of `baton replay`. */
export const replayOptions = defineOptions("replay", {
  policy: z.enum(policies).optional().describe("How workers are chosen. Default kv."),
  policyFile: z.string().min(1).optional().describe("A policy file, as routers have it."),
  parameter: z
    .array(z.string())
    .default([])
    .describe("NAME=VALUE of the policy; may be given several times."),
  workers: workers.describe("Aggregated workers (default 8 if nothing else is given)."),
  prefill: workers.describe("Prefill workers; with --decode."),
  decode: workers.describe("Decode workers; with --prefill."),
  blocks: z.coerce.number().int().min(1).default(16_384).describe("KV blocks of each worker."),
  blockSize: z.coerce.number().int().min(1).default(512).describe("Tokens a block."),
  traceBlockSize: z.coerce
    .number()
    .int()
    .min(1)
    .default(512)
    .describe("Tokens that each of the trace's hash_ids stands for."),
  speed: z.coerce.number().positive().default(1).describe("Divides the trace's times."),
  limit: z.coerce.number().int().min(1).optional().describe("Only the first so many requests."),
  seed: z.coerce.number().int().min(0).default(0).describe("Seed of all random choices."),
  eventDelayMs: delayMs.describe("How late the router hears of the workers' blocks, virtual ms."),
  transferGbps: delayMs.describe("Speed of handoffs, gigabytes a second; 0: no delay."),
  sloTtftMs: limitMs.describe("Longest time to the first token for goodput, ms."),
  sloItlMs: limitMs.describe("Longest mean time between tokens for goodput, ms."),
  json: z.string().optional().describe("File for the result as JSON; - for standard output."),
  html: z.string().optional().describe("File for the result as a page with charts."),
});

type ReplayFlags = typeof replayOptions extends OptionSet<infer Config> ? Config : never;

/** `baton replay`: a trace against simulated workers in virtual time. */
export async function runReplay(
  trace: string,
  flags: Readonly<Record<string, unknown>>,
  io: CommandIo,
): Promise<number> {
  const config = readOptions(replayOptions, { flags, env: io.env });
  const options = replayOptionsOf(config);
  const rows = readTraceFile(trace, options.traceBlockSize);
  const own = await ownRouting(config);
  const bar = progressBar(io);
  const deps = { onProgress: bar.show, ...(own !== null && { own }) };
  const result = replay({ name: basename(trace), rows }, options, deps);
  bar.clear();
  if (config.html !== undefined) writeResult("--html", config.html, htmlReport(result));
  const json = `${JSON.stringify(result.report, null, 2)}\n`;
  if (config.json !== undefined && config.json !== "-") writeResult("--json", config.json, json);
  io.out(config.json === "-" ? json : summaryText(result.report));
  return 0;
}

function replayOptionsOf(config: ReplayFlags): ReplayOptions {
  const { policy = "kv", parameter, limit, sloTtftMs, sloItlMs, ...plain } = config;
  return {
    ...plain,
    policy,
    parameters: parametersOf(policy, parameter),
    shape: shapeOf(config),
    limit: limit ?? null,
    sloTtftMs: sloTtftMs ?? null,
    sloItlMs: sloItlMs ?? null,
  };
}

/** The routing of a policy file; null without one. */
async function ownRouting({
  policy,
  policyFile,
  parameter,
}: ReplayFlags): Promise<OwnRouting | null> {
  if (policyFile === undefined) return null;
  if (parameter.length > 0) throw invalid("--parameter goes without --policy-file");
  const flags = { policyFile, ...(policy !== undefined && { routerMode: policy }) };
  const loaded = await loadPolicy(flags, diskSources);
  return { name: basename(policyFile), createCore: (stage) => coreOfStage(stage, loaded) };
}

function shapeOf({ workers, prefill, decode }: ReplayFlags): ReplayOptions["shape"] {
  if (prefill === undefined && decode === undefined) {
    return { kind: "aggregated", workers: workers ?? defaultWorkers };
  }
  if (workers !== undefined) throw invalid("--workers goes without --prefill and --decode");
  if (prefill === undefined || decode === undefined) {
    throw invalid("--prefill and --decode go together");
  }
  return { kind: "disaggregated", prefill, decode };
}

function parametersOf(policy: ReplayPolicy, texts: readonly string[]): Record<string, number> {
  const parameters: Record<string, number> = {};
  for (const text of texts) {
    const at = text.indexOf("=");
    const value = text.slice(at + 1).trim();
    if (at < 1 || value === "" || Number.isNaN(Number(value))) {
      throw invalid(`--parameter: "${text}" is not NAME=VALUE with a number`);
    }
    parameters[text.slice(0, at).trim()] = Number(value);
  }
  const faults = checkPolicyParameters(policy, parameters);
  if (faults.length > 0) throw invalid(faults.map(({ text }) => `--parameter: ${text}`).join("; "));
  return parameters;
}

function writeResult(flag: string, path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalid(`${flag}: cannot write ${path}: ${why}`, cause);
  }
}

function invalid(problem: string, cause?: unknown): ServingError {
  return new ServingError("config_invalid", { problem }, { cause });
}
