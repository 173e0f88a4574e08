// What Baton needs of memory, with the mock engine: `baton up` in one process when it is ready, after requests and after a
// body that is refused; then what one request in flight costs each actor. Prints two tables; exit code 1 if an aim is missed.
import { Agent, request } from "node:http";
import {
  BatonProcess,
  startCluster,
  waitUntil,
  workerSpec,
} from "../test/support/processes/index.ts";
import { ProcessProbe, residentBytes } from "../test/support/soak/process-probe.ts";
import { scriptOptions, wholeNumber } from "./options.ts";

const { values } = scriptOptions(
  "npx tsx --conditions=@baton/source scripts/measure-memory.ts [OPTIONS]: what Baton needs of memory",
  {
    options: {
      requests: { type: "string", default: "40000" },
      "in-flight": { type: "string", default: "2000" },
    },
  },
);
const requests = wholeNumber("--requests", values.requests);
const inFlight = wholeNumber("--in-flight", values["in-flight"]);
const mebibyte = 1024 * 1024;
const atOnce = 64;
const few = 200;
const leastHeld = 0.98;
const restMs = 5_000;
const refusedBytes = 10 * 1000 * 1000;
const prompt = "the relay runs on and hands over its baton at every bend. ".repeat(10);

const isSmall = requests === 0 || (await ofOneProcess());
if (inFlight > 0) await ofRequestsInFlight();
process.exit(isSmall ? 0 : 1);

/** Resident memory of `baton up`, every actor in one process. */
async function ofOneProcess(): Promise<boolean> {
  const engine = ["--engine", "mock", "--mock-prefill-ms", "0", "--mock-decode-ms", "0"];
  const ports = ["--port", "0", "--admin-port", "0", "--log-level", "warn"];
  const up = new BatonProcess(["up", ...engine, ...ports, "--nats", "off"]);
  let isSmall = true;
  const show = (what: string, bytes: number, aim: number) => {
    console.log(`| ${what} | ${(bytes / mebibyte).toFixed(1)} | ≤ ${aim} |`);
    if (bytes > aim * mebibyte) isSmall = false;
  };
  console.log("| `baton up`, one process | RSS, MB | aim |\n|---|---|---|");
  try {
    const api = (await up.line(/^ready /, 60_000)).split(" ")[1] ?? "";
    const look = async () => {
      await rest();
      return residentBytes(up.pid);
    };
    const ready = await look();
    show("ready", ready, 200);
    const refused = await post(api, new Agent(), "x".repeat(refusedBytes));
    if (refused.status !== 413) {
      throw new Error(`a body of 10 MB was answered with ${refused.status}: ${refused.text}`);
    }
    show("a refused body of 10 MB: more", (await look()) - ready, 20);
    const before = await look();
    await load(api, requests);
    show(`${requests} requests: more`, (await look()) - before, 20);
    const after = await look();
    await load(api, requests);
    show("as many again: more", (await look()) - after, 20);
  } finally {
    await up.end();
  }
  return isSmall;
}

/** What one more request costs each actor while it waits in a router, while it is in prefill, and while it streams. */
async function ofRequestsInFlight(): Promise<void> {
  const slow = { "mock-prefill-ms": 600_000, "mock-decode-ms": 0 };
  const states = [
    // A router's queue has a limit of 1,024.
    { what: "queued", most: Math.min(inFlight, 800), flags: { ...slow, "max-num-seqs": 1 } },
    { what: "in prefill", most: inFlight, flags: { ...slow, "max-num-seqs": 4_096 } },
    {
      what: "streaming",
      most: inFlight,
      flags: { "max-num-seqs": 4_096, "mock-prefill-ms": 0, "mock-decode-ms": 5_000 },
    },
  ];
  const rows: (readonly [what: string, bytes: ReadonlyMap<string, number>])[] = [];
  for (const { what, most, flags } of states) rows.push([what, await bytesInFlight(most, flags)]);
  const actors = [...(rows[0]?.[1].keys() ?? [])];
  console.log(
    `\n| bytes a request | ${actors.join(" | ")} |\n|${"---|".repeat(actors.length + 1)}`,
  );
  for (const [what, bytes] of rows) {
    console.log(`| ${what} | ${actors.map((id) => Math.round(bytes.get(id) ?? 0)).join(" | ")} |`);
  }
}

/** Between `few` and that many more, so that what an actor needs for its first requests is not counted. */
async function bytesInFlight(
  more: number,
  flags: Readonly<Record<string, number>>,
): Promise<ReadonlyMap<string, number>> {
  const probe = new ProcessProbe();
  const worker = { blocks: 65_536, ...flags };
  const deadlines = {
    "prefill-queued-ms": 600_000,
    "prefill-running-ms": 600_000,
    "router-notice-ms": 60_000,
  };
  const cluster = await startCluster({
    env: probe.env,
    prefill: 0,
    decode: 0,
    frontendFlags: deadlines,
    also: (["prefill", "decode"] as const).map((type) => workerSpec(type, type, "mock", worker)),
  });
  const agent = new Agent();
  const heldBy = async () => {
    const found = new Map<string, number>();
    for (const id of cluster.admins.keys()) {
      const { heapUsed, external } = await probe.memory(cluster.process(id).pid);
      found.set(id, heapUsed + external);
    }
    return found;
  };
  /** How many are in flight then: on a busy machine some fail. */
  const holdUntil = async (count: number, from: number) => {
    for (let number = from; number < count; number += 1) hold(cluster.api, agent, number);
    const shown = () => cluster.metrics("baton_frontend_requests_in_flight");
    await waitUntil(
      `${count} requests to be in flight`,
      async () => (await shown()) >= leastHeld * count,
      { timeoutMs: 240_000, everyMs: 500 },
    );
    await rest();
    return await shown();
  };
  try {
    const first = await holdUntil(few, 0);
    const before = await heldBy();
    const held = (await holdUntil(few + more, few)) - first;
    const after = await heldBy();
    return new Map([...after].map(([id, bytes]) => [id, (bytes - (before.get(id) ?? 0)) / held]));
  } finally {
    agent.destroy();
    await cluster.stop();
    probe.close();
  }
}

/** Sends a request that nobody waits for. */
function hold(api: string, agent: Agent, number: number): void {
  const body = { model: "mock", prompt: `${number} ${prompt}`, max_tokens: 10_000, stream: true };
  const sent = request(`${api}/v1/completions`, {
    method: "POST",
    agent,
    headers: { "content-type": "application/json" },
  });
  sent.on("error", () => undefined);
  sent.on("response", (answer) => answer.resume().on("error", () => undefined));
  sent.end(JSON.stringify(body));
}

/** Sends requests of about 140 tokens, 64 at once, and reads their answers of 8. */
async function load(api: string, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  let next = 0;
  const client = async () => {
    while (next < count) {
      const messages = [{ role: "user", content: `${next++} ${prompt}` }];
      const body = JSON.stringify({ model: "mock", messages, max_tokens: 8 });
      const { status, text } = await post(api, agent, body);
      if (status !== 200) throw new Error(`a request was answered with ${status}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  agent.destroy();
}

/** Resolves when the answer is whole. */
function post(api: string, agent: Agent, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${api}/v1/chat/completions`, {
      method: "POST",
      agent,
      headers: { "content-type": "application/json", "content-length": body.length },
    });
    sent.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** What is freed only later is freed. */
function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, restMs));
}
