import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { clientPython, within } from "../../support/processes/index.ts";
import {
  callTimeoutMs,
  type OpenAiCall,
  type OpenAiClient,
  type Outcome,
} from "./openai-client.ts";

/** Clients look at these: nothing of this machine may change what they do, and no tracker be asked for. */
const environment = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  PYTHONDONTWRITEBYTECODE: "1",
  LITELLM_LOCAL_MODEL_COST_MAP: "True",
  LANGSMITH_TRACING: "false",
};

/** A Python process that makes calls of one client. */
export class PythonPeer implements OpenAiClient {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (outcome: Outcome) => void>();
  readonly #failed: Promise<never>;
  #calls = 0;
  #errors = "";

  /** `script` is a file of `python`, without its ending. */
  constructor(script: string) {
    this.#child = spawn(clientPython, [pythonFile(`${script}.py`)], { env: environment });
    this.#child.stderr?.on("data", (text) => {
      this.#errors = `${this.#errors}${text}`.slice(-4_000);
    });
    this.#failed = new Promise((_, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", () => reject(new Error(`${script} is over: ${this.#errors}`)));
    });
    this.#failed.catch(() => undefined);
    if (this.#child.stdout === null) throw new Error("no standard output");
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      const { id, outcome } = JSON.parse(line) as { id: number; outcome: Outcome };
      this.#waiting.get(id)?.(outcome);
      this.#waiting.delete(id);
    });
  }

  async call(call: OpenAiCall): Promise<Outcome> {
    const id = this.#calls++;
    const answered = new Promise<Outcome>((resolve) => this.#waiting.set(id, resolve));
    const { api, ...rest } = call;
    const asked = { body: {}, headers: {}, leaveAfter: null, maxRetries: 0, ...rest };
    const timeoutMs = call.timeoutMs ?? callTimeoutMs;
    this.#child.stdin?.write(
      `${JSON.stringify({ ...asked, id, timeoutMs, baseUrl: `${api}/v1` })}\n`,
    );
    return await within(2 * callTimeoutMs, call.method, Promise.race([answered, this.#failed]));
  }

  /** Ends the process. */
  end(): void {
    this.#child.kill("SIGKILL");
  }
}

/** Runs a Python program to its end. Rejects if it fails. */
export async function runPython(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = spawn(clientPython, args, { env: { ...environment, ...env } });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said.err += text;
  });
  child.stdin.end();
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  try {
    return { code: await within(callTimeoutMs, `python ${args.join(" ")}`, ended), ...said };
  } finally {
    child.kill("SIGKILL");
  }
}

function pythonFile(name: string): string {
  return fileURLToPath(new URL(`python/${name}`, import.meta.url));
}
