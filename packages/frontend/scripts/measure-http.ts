/**
 * Measures what the API spends on HTTP alone: a server in a process of its own above a port that answers at once, and a
 * client that talks to it over 64 connections. Prints the server's CPU per request, and its memory before and after bodies
 * that it refuses.
 *
 * Run from the root: `node --import tsx --conditions=@baton/source packages/frontend/scripts/measure-http.ts [speed | memory]`.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { ApiRig, chatBody } from "../test/support/api-rig.ts";
import { deltaOf, summary } from "../test/support/fake-port.ts";

const connections = 64;
const rounds = 6;
const requestsPerRound = 10_000;
const mebi = 1024 * 1024;
const bodyBytes = 10_000_000;

/** What the server's process tells of itself. */
interface Usage {
  readonly userMicros: number;
  readonly systemMicros: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly rssBytes: number;
}

/** Asks the server's process, after it has collected its garbage or before. */
type AskUsage = (wish: "look" | "collect") => Promise<Usage>;

if (process.send === undefined) await measure();
else await serve();

/** The server's process: answers each request in as many turns of the loop as it may have tokens, and each message with its own usage. */
async function serve(): Promise<void> {
  const rig = await new ApiRig({ maxBodyBytes: 8 * mebi, maxReceivingBytes: 256 * mebi }).start();
  rig.port.onSubmit = (sink, request) => {
    rig.port.requests.length = 0;
    rig.port.sinks.length = 0;
    rig.counted.length = 0;
    const say = (parts: number): void => {
      sink.output([deltaOf("Hello there, this is an answer of some words.")]);
      if (parts > 1) {
        setImmediate(say, parts - 1);
        return;
      }
      sink.output([deltaOf("", { finishReason: "stop" })]);
      sink.ended({ kind: "completed", summary });
    };
    say(request.output.maxTokens ?? 1);
  };
  process.on("disconnect", () => process.exit());
  process.on("message", (wish) => {
    if (wish === "collect") for (let pass = 0; pass < 4; pass += 1) globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    const { heapUsed, external, rss } = process.memoryUsage();
    rig.counted.length = 0;
    process.send?.({
      userMicros: user,
      systemMicros: system,
      heapBytes: heapUsed,
      externalBytes: external,
      rssBytes: rss,
    } satisfies Usage);
  });
  process.send?.(rig.url);
}

async function measure(): Promise<void> {
  const server = fork(new URL(import.meta.url), {
    execArgv: [...process.execArgv, "--expose-gc"],
  });
  const [url] = (await once(server, "message")) as [string];
  const port = Number(new URL(url).port);
  const usage: AskUsage = async (wish) => {
    server.send(wish);
    const [answer] = (await once(server, "message")) as [Usage];
    return answer;
  };
  if (process.argv[2] !== "memory") await speed(port, usage);
  if (process.argv[2] !== "speed") await memory(port, usage);
  server.disconnect();
}

/** Prints what a request costs. */
async function speed(port: number, usage: AskUsage): Promise<void> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => opened(port)));
  const turns = Array.from({ length: 6 }, (_, turn) => ({
    role: turn % 2 === 0 ? "user" : "assistant",
    content: "some words of a turn ".repeat(10),
  }));
  const bodies = {
    "a short chat": { ...chatBody },
    "a chat of six turns": { ...chatBody, messages: turns, temperature: 0.7 },
    "a stream in one turn": { ...chatBody, stream: true },
    "a stream in eight turns": { ...chatBody, stream: true, max_tokens: 8 },
  };
  for (const [name, body] of Object.entries(bodies)) {
    const bytes = requestOf(JSON.stringify(body));
    const user: number[] = [];
    const system: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = await usage("look");
      await Promise.all(
        sockets.map((socket) => ask(socket, bytes, Math.ceil(requestsPerRound / connections))),
      );
      const after = await usage("look");
      user.push((after.userMicros - before.userMicros) / requestsPerRound);
      system.push((after.systemMicros - before.systemMicros) / requestsPerRound);
    }
    print(
      name,
      `µs a request: ${spread(user.slice(1))} of ours, ${spread(system.slice(1))} of the kernel`,
    );
  }
  for (const socket of sockets) socket.destroy();
}

/** Prints what refused bodies leave behind. */
async function memory(port: number, usage: AskUsage): Promise<void> {
  const large = Buffer.alloc(bodyBytes, "a");
  const head = (fields: string) =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\n${fields}\r\n\r\n`;
  const chunked = Buffer.concat([
    Buffer.from(`${bodyBytes.toString(16)}\r\n`),
    large,
    Buffer.from("\r\n0\r\n\r\n"),
  ]);
  const bomb = gzipSync(Buffer.alloc(64 * mebi, " "));
  const refused: readonly (readonly [string, string, Buffer])[] = [
    ["over its length", head(`content-length: ${bodyBytes}`), large],
    ["in one chunk", head("transfer-encoding: chunked"), chunked],
    ["folded 1,000 times", head(`content-encoding: gzip\r\ncontent-length: ${bomb.length}`), bomb],
  ];
  const before = await usage("collect");
  for (const [name, start, body] of refused) {
    const first = await usage("collect");
    await refuse(port, start, body, name);
    const one = await usage("collect");
    for (let count = 0; count < 100; count += 1) await refuse(port, start, body, name);
    const after = await usage("collect");
    print(
      `a body of 10 MB ${name}, refused`,
      `RSS ${growth(first, one, "rssBytes")} MB after one;`,
      `after 100: RSS ${growth(before, after, "rssBytes")} MB,`,
      `heap ${share(before, after, "heapBytes")} %, external ${share(before, after, "externalBytes")} %`,
    );
  }
}

/** Sends a body to its end, or until the server has closed. */
async function refuse(port: number, head: string, body: Buffer, name: string): Promise<void> {
  const socket = await opened(port);
  let heard = "";
  socket.setEncoding("latin1").on("data", (piece: string) => {
    heard += piece;
  });
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.write(head);
  socket.write(body);
  await closed;
  if (!heard.startsWith("HTTP/1.1 413")) throw new Error(`${name}: ${heard.slice(0, 100)}`);
}

/** Asks so often, one request after the other. */
function ask(socket: Socket, bytes: Buffer, times: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = times;
    let heard = "";
    const hear = (piece: string): void => {
      heard += piece;
      if (!isWhole(heard)) return;
      if (!heard.startsWith("HTTP/1.1 200")) {
        reject(new Error(heard.slice(0, 300)));
        return;
      }
      heard = "";
      left -= 1;
      if (left > 0) socket.write(bytes);
      else {
        socket.off("data", hear);
        resolve();
      }
    };
    socket.setEncoding("latin1").on("data", hear);
    socket.write(bytes);
  });
}

function isWhole(heard: string): boolean {
  if (heard.endsWith("\r\n0\r\n\r\n")) return true;
  const end = heard.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /content-length: (\d+)/i.exec(heard)?.[1];
  return length !== undefined && heard.length === end + 4 + Number(length);
}

function requestOf(body: string): Buffer {
  return Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\nuser-agent: measure\r\nauthorization: Bearer x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  await once(socket, "connect");
  return socket;
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (index: number) => (sorted[index] ?? 0).toFixed(1);
  return `${at(sorted.length >> 1)} [${at(0)}–${at(sorted.length - 1)}]`;
}

function growth(before: Usage, after: Usage, key: keyof Usage): string {
  return ((after[key] - before[key]) / 1e6).toFixed(1);
}

function share(before: Usage, after: Usage, key: keyof Usage): string {
  return ((after[key] / before[key] - 1) * 100).toFixed(1);
}

function print(name: string, ...values: readonly string[]): void {
  process.stdout.write(`${name.padEnd(48)} ${values.join(" ")}\n`);
}
