// `npm run simulate -- --from N --count N [--verbose]`: runs whole clusters from seeds and says what broke.
import { parseArgs } from "node:util";
import { subjectRow } from "@baton/protocol";
import type { ObservedMessage } from "@baton/runtime";
import { repeatCommand, runSeed, type SeedRun } from "../test/support/simulation/run-seed.ts";

const { values } = parseArgs({
  options: {
    from: { type: "string", default: "1" },
    count: { type: "string", default: "100" },
    verbose: { type: "boolean", default: false },
  },
});
const from = wholeNumber("--from", values.from);
const count = wholeNumber("--count", values.count);
const startedAtMs = performance.now();
const totals: Record<string, number> = {};
const broken: SeedRun[] = [];

for (let seed = from; seed < from + count; seed++) {
  const run = await runSeed(seed, values.verbose ? { onMessage: show, onNote: note } : {});
  add("requests", run.stats.requests);
  add("completed", run.stats.completed);
  add("cancelled", run.stats.cancelled);
  add("messages", run.stats.messages);
  add("virtual seconds", run.stats.virtualMs / 1_000);
  for (const [code, times] of Object.entries(run.stats.failed)) add(`failed ${code}`, times);
  for (const [mode, times] of Object.entries(run.stats.modes)) add(`mode ${mode}`, times);
  if (run.violations.length > 0) {
    broken.push(run);
    console.log(`seed ${seed} (${run.stats.temper}): ${repeatCommand(seed)}`);
    for (const violation of run.violations) console.log(`  ${violation}`);
  }
  if (count === 1) console.log(`digest ${run.digest}\n${JSON.stringify(run.stats)}`);
  if (process.stderr.isTTY) {
    process.stderr.write(`\r${seed - from + 1}/${count} seeds, ${broken.length} broken `);
  }
}
if (process.stderr.isTTY) process.stderr.write("\n");
const seconds = (performance.now() - startedAtMs) / 1_000;
console.log(
  `${count} seeds from ${from} in ${seconds.toFixed(1)} s, ${broken.length} broken: ${summary()}`,
);
process.exitCode = broken.length === 0 ? 0 : 1;

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`${option}: ${JSON.stringify(text)} is not a whole number`);
  process.exit(2);
}

function add(name: string, amount: number): void {
  totals[name] = (totals[name] ?? 0) + amount;
}

function summary(): string {
  return Object.entries(totals)
    .map(([name, amount]) => `${Math.round(amount)} ${name}`)
    .join(", ");
}

function note(atMs: number, text: string): void {
  console.log(`${time(atMs)} ******** ${text}`);
}

function show({ atMs, from, subject, reply, receivers, payload, chunk }: ObservedMessage): void {
  const short = subject.split(".").slice(4).join(".");
  const to = reply === "" ? "" : ` reply ${reply.split(".").slice(4).join(".")}`;
  const body = chunk === null ? bodyOf(subject, payload) : `part of ${payload.length} bytes`;
  console.log(`${time(atMs)} ${from} → ${receivers} ${short}${to} ${body}`);
}

function time(atMs: number): string {
  return ((atMs % 1_000_000) / 1_000).toFixed(6);
}

function bodyOf(subject: string, payload: Uint8Array): string {
  const message = subjectRow(subject)?.message;
  if (message === undefined || message === null) return `${payload.length} bytes`;
  try {
    return JSON.stringify(message.decode(payload), (_, value: unknown) =>
      value instanceof Uint8Array ? shortHex(value) : value,
    );
  } catch {
    return `not decoded: ${shortHex(payload)}`;
  }
}

function shortHex(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return hex.length > 64 ? `${hex.slice(0, 64)}… (${bytes.length} bytes)` : hex;
}
