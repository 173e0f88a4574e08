import { startCluster } from "../test/support/processes/index.ts";
import { scriptOptions, wholeNumber } from "./options.ts";

// How long a PrefillRouter that was killed needs until it credits every worker with what it holds, over NATS, every actor
// a process. Prints one line of JSON.

const { values } = scriptOptions(
  "npx tsx --conditions=@baton/source scripts/measure-router-restart.ts [OPTIONS]: until a killed router credits all workers again",
  {
    options: {
      blocks: { type: "string", default: "100000" },
      workers: { type: "string", default: "8" },
      rounds: { type: "string", default: "5" },
    },
  },
);
const blockSize = 16;
const promptBlocks = 512;
const wanted = wholeNumber("--blocks", values.blocks);
const workers = wholeNumber("--workers", values.workers);
const rounds = wholeNumber("--rounds", values.rounds);
const inFlight = 8;
const probes = 64;

interface Explained {
  readonly candidates: readonly { worker: string; role: string; cached_tokens: number }[];
}

/** The prompt with this number, as token ids: no two share a block. */
function promptOf(number: number): number[] {
  return Array.from(
    { length: promptBlocks * blockSize + 1 },
    (_, i) => (number * 31 + i * 7) % 200,
  );
}

async function post(api: string, body: object): Promise<Response> {
  return fetch(`${api}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "mock", max_tokens: 1, ...body }),
  });
}

/** Who holds how much of a prompt; null if no router says. */
async function creditsOf(api: string, number: number): Promise<string | null> {
  const answer = await post(api, { prompt: promptOf(number), baton: { query_only: true } });
  if (!answer.ok) return null;
  const { candidates } = (await answer.json()) as Explained;
  const credits = candidates
    .filter(({ role }) => role === "prefill")
    .map(({ cached_tokens, worker }) => `${worker}=${cached_tokens}`);
  return credits.sort().join(" ");
}

const cluster = await startCluster({
  prefill: workers,
  flags: {
    "block-size": blockSize,
    blocks: Math.ceil((wanted / workers) * 1.3),
    "mock-prefill-ms": 0,
    "mock-decode-ms": 0,
  },
});
try {
  const { api } = cluster;
  const prompts = Math.ceil(wanted / promptBlocks);
  let next = 0;
  const fill = async () => {
    while (next < prompts) {
      const answer = await post(api, { prompt: promptOf(next++) });
      if (!answer.ok) throw new Error(`a prompt failed: ${await answer.text()}`);
      await answer.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, fill));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const asked = [
    ...new Set(Array.from({ length: probes }, (_, i) => Math.floor((i * prompts) / probes))),
  ];
  const before = new Map<number, string | null>();
  for (const number of asked) before.set(number, await creditsOf(api, number));
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    cluster.kill("prefill-router", "SIGKILL");
    const startedAt = performance.now();
    const started = cluster.start({ role: "prefill-router", id: "prefill-router" });
    const left = new Set(asked);
    while (left.size > 0) {
      for (const number of left) {
        if ((await creditsOf(api, number)) !== before.get(number)) break;
        left.delete(number);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    seconds.push(Number(((performance.now() - startedAt) / 1_000).toFixed(2)));
    await started;
  }
  const held = [...before.values()].filter((credits) => /=[1-9]/.test(credits ?? "")).length;
  process.stdout.write(
    `${JSON.stringify({ blocks: prompts * promptBlocks, workers, probes, held, seconds })}\n`,
  );
} finally {
  await cluster.stop();
}
