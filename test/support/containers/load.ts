import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type ApiError, ApiStream, post } from "../processes/api-client.ts";
import { within } from "../processes/wait-until.ts";

const outputTokens = 12;
/** Between two tries of a client whose connection was broken or whose request was refused. */
const patienceMs = 50;
const answerMs = 30_000;

/** What one client saw of one request. */
export interface SeenAnswer {
  /** Which Frontend it asked. */
  readonly frontend: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** `ok`, the code of its one error, or `broken`: its connection ended with neither. */
  readonly outcome: string;
  readonly stage: string | null;
  /** Its `x-request-id`. */
  readonly id: string;
}

/** Clients that ask one request after the other, streams and whole answers in turn, until they are told to stop. */
export class Load {
  readonly seen: SeenAnswer[] = [];
  readonly #name = randomUUID().slice(0, 8);
  #isOver = false;
  readonly #clients: Promise<void>[];

  /** `apis` by the names of their Frontends; clients share them out among themselves. */
  constructor(apis: () => ReadonlyMap<string, string>, clients = 6) {
    const names = [...apis().keys()];
    this.#clients = Array.from({ length: clients }, (_, index) => {
      const frontend = names[index % names.length] ?? "";
      return this.#run(index, frontend, () => apis().get(frontend));
    });
  }

  /** Whether a Frontend has answered what it was asked since `sinceMs`. */
  serves(frontend: string, sinceMs: number): boolean {
    return this.seen.some(
      (one) => one.frontend === frontend && one.outcome === "ok" && one.startedAtMs > sinceMs,
    );
  }

  /** How many have ended since `sinceMs`, of those that began after it. */
  endedSince(sinceMs: number): number {
    return this.seen.filter(({ startedAtMs }) => startedAtMs >= sinceMs).length;
  }

  /** Lets every client finish what it has asked for. Rejects if one gets no end. */
  async stop(): Promise<readonly SeenAnswer[]> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return this.seen;
  }

  async #run(index: number, frontend: string, apiOf: () => string | undefined): Promise<void> {
    for (let round = 0; !this.#isOver; round += 1) {
      const startedAtMs = performance.now();
      const id = `${this.#name}-${index}-${round}`;
      const [outcome, stage] = await ask(apiOf(), id, round % 2 === 0);
      this.seen.push({ frontend, startedAtMs, endedAtMs: performance.now(), outcome, stage, id });
      if (outcome !== "ok") await sleep(patienceMs);
    }
  }
}

async function ask(
  api: string | undefined,
  id: string,
  streams: boolean,
): Promise<readonly [string, string | null]> {
  if (api === undefined) return ["broken", null];
  const body = { model: "mock", prompt: id, max_tokens: outputTokens };
  if (streams) {
    const stream = new ApiStream(api, "completions", body, id);
    await within(answerMs, `the stream of ${id}`, stream.ended);
    if (stream.errors.length > 1) return ["several errors", null];
    return outcomeOf(stream.isDone, stream.errors[0]);
  }
  try {
    const { status, body: answer } = await post(api, "completions", body, {
      "x-request-id": id,
    });
    return outcomeOf(status === 200, answer.error);
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") throw error;
    return ["broken", null];
  }
}

function outcomeOf(
  isWhole: boolean,
  error: ApiError | undefined,
): readonly [string, string | null] {
  if (error !== undefined) return [isWhole ? "error and end" : error.code, error.stage];
  return [isWhole ? "ok" : "broken", null];
}
