import { ServingError } from "@baton/protocol";
import { policyOptions } from "@baton/routing";
import { defineOptions, logLevels } from "@baton/runtime";
import { z } from "zod";

/** A TCP port; 0 takes any free one. */
export const portOption = z.coerce.number().int().min(0).max(65_535);

const namespace = z
  .string()
  .default("default")
  .describe("The deployment. Namespaces do not see each other.");
const logLevel = z.enum(logLevels).default("info").describe("What is logged, as JSON on stderr.");
/** How to log in at NATS and whom to trust. */
const natsAccess = {
  natsCreds: z
    .string()
    .optional()
    .describe(
      "Credentials for NATS: a .creds file, or JSON with user and password, token, or nkey (a seed).",
    ),
  natsCa: z
    .string()
    .optional()
    .describe("Authorities that NATS's certificate is trusted by, PEM. Default: the system's."),
  natsCert: z.string().optional().describe("Certificate to show to NATS, PEM; needs its key."),
  natsKey: z.string().optional().describe("Key of that certificate, PEM."),
};

/** Options of every actor's command. */
export const actorOptions = defineOptions("", {
  nats: z
    .string()
    .describe(
      "URL of the NATS server, as nats://HOST:PORT or tls://HOST:PORT; several with commas.",
    ),
  ...natsAccess,
  namespace,
  id: z.string().optional().describe("Name on the bus; random if not given."),
  host: z.string().default("127.0.0.1").describe("Address to listen on."),
  adminPort: portOption.default(0).describe("Port of /livez, /readyz and /metrics; 0 takes any."),
  logLevel,
  drainTimeoutMs: z.coerce
    .number()
    .int()
    .min(0)
    .default(25_000)
    .describe("How long running work may take after SIGTERM, ms."),
  seed: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe("Seed of all random choices, for tests: ids and secrets become predictable."),
  exitWithParent: z.boolean().default(false).describe("End when standard input closes."),
});

/** Options of `baton up`, apart from those of its workers and its Frontend. */
export const upOptions = defineOptions("", {
  engine: z
    .enum(["auto", "llama", "mock"])
    .default("auto")
    .describe("What computes tokens. auto: llama if it can be had, else mock."),
  model: z.string().optional().describe("A GGUF file (llama) or a tokenizer folder (mock)."),
  modelName: z.string().optional().describe("The name that clients use."),
  modelUrl: z.string().optional().describe("Where to fetch the default model from."),
  prefill: z.coerce.number().int().min(0).optional().describe("Prefill workers (default 1)."),
  decode: z.coerce.number().int().min(0).optional().describe("Decode workers (default 1)."),
  aggregated: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe("Aggregated workers (default 0); alone it means no others."),
  decodeOnly: z.boolean().default(false).describe("Decode workers serve without prefill workers."),
  port: portOption.default(8_000).describe("Port of the API; 0 takes any."),
  adminPort: portOption
    .default(8_001)
    .describe("Port of metrics, readiness, status and tail; 0 takes any."),
  host: z.string().default("127.0.0.1").describe("Address to listen on."),
  nats: z
    .string()
    .default("auto")
    .describe(
      "URL | auto (a nats-server of its own if there is one, else in-process) | embedded (a nats-server of its own) | off (in-process).",
    ),
  ...natsAccess,
  processes: z.boolean().default(false).describe("Every actor a process of its own; needs NATS."),
  namespace,
  routerMode: policyOptions.routerMode,
  policyFile: policyOptions.policyFile,
  logLevel,
  seed: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe("Seed of all random choices, for tests: ids and secrets become predictable."),
  drainTimeoutMs: z.coerce
    .number()
    .int()
    .min(0)
    .default(25_000)
    .describe("How long running work may take after SIGTERM, ms."),
});

const whereToLook = {
  nats: z.string().optional().describe("URL of the NATS server."),
  ...natsAccess,
  admin: z.string().optional().describe("URL of an admin port, as http://HOST:PORT."),
  namespace,
  json: z.boolean().default(false).describe("Print JSON."),
};

/** Options of commands that only look. */
export const watchOptions = defineOptions("", whereToLook);

/** Options of `baton route explain`. */
export const explainOptions = defineOptions("", {
  ...whereToLook,
  model: z.string().optional().describe("The model's name; needed if several are served."),
  body: z
    .string()
    .optional()
    .describe(
      "A file with the JSON body of a chat or a completion, in place of a prompt; -: standard input.",
    ),
});

/** A path at an admin port. Throws `config_invalid` if `admin` is no address. */
export function adminUrl(path: string, admin: string): URL {
  if (/^https?:\/\//.test(admin) && URL.canParse(path, admin)) return new URL(path, admin);
  throw new ServingError("config_invalid", {
    problem: `--admin: must be http://HOST:PORT, not "${admin}"`,
  });
}
