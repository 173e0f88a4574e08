import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { waitUntil, within } from "./wait-until.ts";

const program = fileURLToPath(new URL("../../../packages/cli/bin/baton.js", import.meta.url));
const linesKept = 400;

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** `performance.now()` when it was seen. */
  readonly atMs: number;
}

/** One `baton` process of this repository, from `dist`. It ends with the test's process, however that ends. */
export class BatonProcess {
  readonly args: readonly string[];
  readonly ended: Promise<ProcessEnd>;
  /** What it has printed so far, the last lines of it. */
  readonly out: string[] = [];
  readonly err: string[] = [];
  #end: ProcessEnd | null = null;
  readonly #child: ChildProcess;

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.args = args;
    this.#child = spawn(process.execPath, [program, ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...ownEnvironment(), ...env },
    });
    keepLines(this.#child.stdout, this.out);
    keepLines(this.#child.stderr, this.err);
    this.#child.stdin?.on("error", () => undefined);
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => {
        this.#end = { code, signal, atMs: performance.now() };
        resolve(this.#end);
      });
    });
    this.ended.catch(() => undefined);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Closes its standard input, as the end of a parent does. */
  closeInput(): void {
    this.#child.stdin?.end();
  }

  /** The first line of standard output that fits. Rejects with what it printed if it ends before or takes too long. */
  async line(pattern: RegExp, timeoutMs = 30_000): Promise<string> {
    return await waitUntil(
      `a line ${pattern} of baton ${this.args.join(" ")}`,
      () => {
        const found = this.out.find((line) => pattern.test(line));
        if (found === undefined && this.hasEnded) throw new Error(this.err.join("\n"));
        return found;
      },
      { timeoutMs },
    );
  }

  /** Ends it at once if it lives, and waits until it is gone. */
  async end(): Promise<ProcessEnd> {
    if (!this.hasEnded) this.#child.kill("SIGKILL");
    return await within(10_000, `the end of ${this.args[0]}`, this.ended);
  }
}

/** Runs a `baton` command to its end. */
export async function runBaton(
  args: readonly string[],
  timeoutMs = 30_000,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = new BatonProcess(args);
  try {
    const { code } = await within(timeoutMs, `baton ${args.join(" ")}`, child.ended);
    return { code, out: child.out.join("\n"), err: child.err.join("\n") };
  } finally {
    await child.end();
  }
}

/** This process's environment without what would change a `baton` or a Node. */
function ownEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !name.startsWith("BATON_") && name !== "NODE_OPTIONS",
    ),
  );
}

function keepLines(stream: NodeJS.ReadableStream | null, lines: string[]): void {
  let rest = "";
  stream?.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
    if (lines.length > linesKept) lines.splice(0, lines.length - linesKept);
  });
}
