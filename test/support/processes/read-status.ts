import { main } from "@baton/cli";
import { RealClock, SystemRandom } from "@baton/runtime";

/** One actor of `baton status --json`. */
export interface ActorStatus {
  readonly id: string;
  readonly role: string;
  readonly state: string;
  readonly pid: number;
  readonly admin: string | null;
  readonly namespace: string;
  readonly model?: string;
  readonly worker_type?: string;
  readonly set?: string;
  readonly generation: number;
}

/** One model of `baton status --json`. */
export interface ModelStatus {
  readonly namespace: string;
  readonly model: string;
  readonly ready: boolean;
  readonly why: { readonly code: string; readonly text: string } | null;
  readonly activation: string;
  readonly sets: readonly {
    readonly worker_type: string;
    readonly set: string;
    readonly live: number;
    readonly lost: number;
    readonly refused: number;
  }[];
}

/** What `baton status --json` prints. */
export interface Status {
  readonly actors: readonly ActorStatus[];
  readonly models: readonly ModelStatus[];
}

/** Runs `baton status --json` in this process. */
export async function readStatus(...where: readonly string[]): Promise<Status> {
  let out = "";
  let err = "";
  await main(["status", ...where, "--json"], {
    env: {},
    clock: new RealClock(),
    random: new SystemRandom(),
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    exit: () => undefined,
    onSignal: () => () => undefined,
  });
  if (out === "") throw new Error(err);
  return JSON.parse(out) as Status;
}
