import { defineOptions } from "@baton/runtime";
import { z } from "zod";

const count = (least = 1) => z.number().int().min(least);
const milliseconds = () => z.number().min(1);

function isOrigin(value: string): boolean {
  return value === "*" || (URL.canParse(value) && new URL(value).origin === value);
}

/** Options of a Frontend. */
export const frontendOptions = defineOptions("frontend", {
  host: z.string().default("127.0.0.1").describe("Address that the API listens on."),
  port: z.number().int().min(0).max(65_535).default(8_000).describe("Port of the API; 0: any."),
  maxBodyBytes: count()
    .default(8 * 1024 * 1024)
    .describe("Largest body of a request, bytes."),
  receiveTimeoutMs: milliseconds()
    .default(60_000)
    .describe("How long a request may take to arrive, ms."),
  headersTimeoutMs: milliseconds()
    .default(15_000)
    .describe("How long the head of a request may take to arrive, ms."),
  sendTimeoutMs: milliseconds()
    .default(60_000)
    .describe("How long a client may take to read what was written to it, ms; then it is cut."),
  keepAliveMs: milliseconds()
    .default(75_000)
    .describe("How long a connection may be idle between two requests, ms."),
  maxConnections: count()
    .default(16_384)
    .describe("Most connections at once; further ones are closed."),
  maxReceivingBytes: count()
    .default(256 * 1024 * 1024)
    .describe("Most bytes at once of bodies that are not whole yet; more are overloaded."),
  corsOrigins: z
    .array(z.string().refine(isOrigin, { error: "must be * or an origin: https://app.example" }))
    .default([])
    .describe("Origin whose pages may use the API from a browser, or * for all; repeatable."),
  maxInFlight: count().default(8_192).describe("Most requests at once; more are overloaded."),
  overloadStatus: z
    .number()
    .int()
    .min(400)
    .max(599)
    .default(529)
    .describe("HTTP status of overloaded."),
  clientBufferBytes: count()
    .default(1024 * 1024)
    .describe("Most bytes that wait for one client of a stream; one that reads less is cut."),
  maxStopTexts: count().default(4).describe("Most stop texts of a request."),
  maxPrompts: count()
    .default(64)
    .describe("Most prompts of one completions body; each is a request of its own."),
  maxPromptLogprobs: count()
    .default(65_536)
    .describe("Most log-probabilities of one prompt, alternatives included."),
  maxTokenizers: count().default(8).describe("Tokenizers that are kept loaded."),
  warmUpMs: milliseconds()
    .default(10_000)
    .describe(
      "How long a start waits for the tokenizers of the models there are, ms; then it is ready without.",
    ),
  artifactTimeoutMs: milliseconds()
    .default(5_000)
    .describe("How long one worker may take to send a tokenizer, ms."),
  preparingMs: milliseconds().default(30_000).describe("Deadline of preparing, ms."),
  prefillQueuedMs: milliseconds().default(30_000).describe("Deadline of prefill.queued, ms."),
  prefillRunningMs: milliseconds().default(300_000).describe("Deadline of prefill.running, ms."),
  decodeRoutingMs: milliseconds().default(20_000).describe("Deadline of decode.routing, ms."),
  handoffMs: milliseconds().default(60_000).describe("Deadline of handoff, ms."),
  extendLeaseMs: milliseconds()
    .default(10_000)
    .describe("How often the lease of staged KV begins anew while its decode request waits, ms."),
  decodeQueuedMs: milliseconds().default(30_000).describe("Deadline of decode.queued, ms."),
  decodeRunningMs: milliseconds().default(300_000).describe("Deadline of decode.running, ms."),
  tokenGapMs: milliseconds()
    .default(60_000)
    .describe("Deadline of decode.streaming: the longest wait for the next token, ms."),
  routerNoticeMs: milliseconds()
    .default(1_500)
    .describe("How long a router may say nothing after it was asked, ms."),
  busGraceMs: milliseconds()
    .default(10_000)
    .describe("How long requests outlive the loss of the Frontend's bus, ms."),
  sweepMs: milliseconds().default(50).describe("How often deadlines are looked at, ms."),
  framesTimeoutMs: milliseconds()
    .default(1_000)
    .describe("How long a worker may take to send lost token frames again, ms."),
  maxHeldFrames: count()
    .default(1_024)
    .describe("Most token frames of one worker that wait behind a lost one."),
  batchMs: z
    .number()
    .min(0)
    .max(5)
    .default(5)
    .describe("How long a state change waits for others before it is published, ms."),
  batchMax: count().default(4_096).describe("Most state changes of a model that wait."),
});

/** The configuration of a Frontend. */
export type FrontendConfig = z.infer<typeof frontendOptions.schema>;
