import { basename } from "node:path";
import { type ModelName, modelName, workerTypes } from "@baton/protocol";
import { defineOptions } from "@baton/runtime";
import { z } from "zod";
import { routerConfigOption } from "./router-config-option.ts";

const count = () => z.number().int().min(1);
/** As many as a router's index holds of all workers. */
const mostBlocks = 16_777_216;
const milliseconds = () => z.number().min(0);
const domainPattern = /^[^=\s]+=\S+$/;
/** Places in the topology are taints too, but are given by `--topology`. */
const taintPattern = /^(?!baton\.topology\/)\S+$/;

/** Options of a worker. */
export const workerOptions = defineOptions("worker", {
  workerType: z
    .enum(workerTypes)
    .default("aggregated")
    .describe("What this worker does for a request: a prompt, its output, or both."),
  set: z.string().min(1).optional().describe("Name of the worker's set. Default: its type."),
  engine: z.string().default("mock").describe("The engine: mock or llama."),
  model: z
    .string()
    .optional()
    .describe("A GGUF file (llama), or a folder with a tokenizer.json (mock)."),
  modelName: z
    .string()
    .min(1)
    .max(300)
    .optional()
    .describe("The name that clients ask for. Default: that of the model's file or folder."),
  decodeOnly: z
    .boolean()
    .default(false)
    .describe("A decode worker that serves without prefill workers too."),
  topology: z
    .array(z.string().regex(domainPattern, "is not DOMAIN=VALUE"))
    .default([])
    .transform((entries) => topologyOf(entries))
    .describe("A topology domain and its value, e.g. rack=r1. May be given several times."),
  taint: z
    .array(z.string().max(256).regex(taintPattern, "is not a word, or is what --topology is for"))
    .default([])
    .describe("A taint that requests may require, prefer or avoid. May be given several times."),
  kvTransferDomain: z
    .string()
    .min(1)
    .optional()
    .describe("The topology domain that KV transfers of this prefill worker stay in."),
  kvTransferEnforcement: z
    .enum(["required", "preferred"])
    .default("required")
    .describe("How strictly KV transfers stay in their domain."),
  kvTransferPreferredWeight: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe("Weight of the domain if it is preferred."),
  routerConfig: routerConfigOption,
  transferHost: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .describe("Where other workers fetch KV from: the host that is put in tickets."),
  transferListenHost: z
    .string()
    .min(1)
    .optional()
    .describe("Address to listen on for them. Default: the transfer host."),
  transferPort: z.number().int().min(0).max(65_535).default(0).describe("Its port. 0: any."),
  handoffLeaseMs: z
    .number()
    .min(100)
    .default(30_000)
    .describe("How long staged KV waits to be fetched."),
  maxStagedBytes: z
    .number()
    .int()
    .min(0)
    .default(2 ** 31)
    .describe("Most bytes of staged KV. Over it a prefill fails with overloaded."),
  maxRequests: count()
    .default(4_096)
    .describe("Most requests that run, wait or are staged. Over it new ones are refused."),
  frameIntervalMs: milliseconds()
    .max(1_000)
    .default(1)
    .describe("Least milliseconds between two token frames to one Frontend."),
  streamIntervalMs: milliseconds()
    .max(1_000)
    .default(4)
    .describe(
      "The same for a frame in which no output begins or ends: tokens of an engine with faster steps share one. 0 for both: each step sends one.",
    ),
  kvEventIntervalMs: milliseconds()
    .max(1_000)
    .default(5)
    .describe(
      "Least milliseconds between two batches of KV events of a rank. 0: each change of the cache sends one.",
    ),
  contextLength: count()
    .optional()
    .describe("Most tokens of prompt and output. Default: 131,072 (mock), the model's (llama)."),
  threads: count().optional().describe("Threads of the llama engine. Default 1."),
  blocks: count().max(mostBlocks).default(16_384).describe("KV blocks of the mock engine."),
  blockSize: count().default(64).describe("Tokens a block of the mock engine."),
  maxNumSeqs: count()
    .optional()
    .describe("Sequences that run at once. Default: 256 (mock), 4 (llama)."),
  maxBatchedTokens: count()
    .default(8_192)
    .describe("Tokens that the mock engine computes at once."),
  mockPrefillMs: milliseconds()
    .optional()
    .describe("Fixed time of a prompt in the mock engine, instead of its timing model."),
  mockDecodeMs: milliseconds()
    .optional()
    .describe("Fixed time of a step in the mock engine, instead of its timing model."),
  speedup: z.number().min(0).default(1).describe("Divides all times of the timing model."),
  decodeSpeedup: z.number().min(0).default(1).describe("Divides its step times further."),
  transferGbps: z
    .number()
    .min(0)
    .default(0)
    .describe("Gigabytes a second of the mock engine's KV transfers. 0: no delay."),
});

/** What a worker is started with. */
export type WorkerConfig = z.infer<(typeof workerOptions)["schema"]>;

/** The model's name: as configured, else that of its file or folder, else the engine's. */
export function modelNameOf(config: WorkerConfig): ModelName {
  if (config.modelName !== undefined) return modelName(config.modelName);
  if (config.model !== undefined) return modelName(basename(config.model).replace(/\.gguf$/, ""));
  return modelName(config.engine === "llama" ? "SmolLM2-135M-Instruct" : "mock");
}

/** `["rack=r1"]` as `{ rack: "r1" }`. The last one of a domain counts. */
function topologyOf(entries: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    entries.map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, at), entry.slice(at + 1)] as const;
    }),
  );
}
