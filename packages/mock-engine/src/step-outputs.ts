import type { EngineRequest } from "./engine-request.ts";
import type { FinishReason } from "./finish-reason.ts";

/** Stands for "no token": the generation ended without one, because its plan had no more. */
export const noToken = -1;

/**
 * The tokens of one step as parallel arrays, of which the first `count` entries count. The engine reuses them: read them
 * before the next call that returns outputs.
 */
export class StepOutputs<R extends EngineRequest> {
  count = 0;
  readonly requests: R[] = [];
  /** Which choice of the request, 0…n-1. */
  readonly choices: number[] = [];
  /** Output position of the token, 0 for the first. */
  readonly positions: number[] = [];
  /** Token ids; `noToken` where the generation ended without one. */
  readonly tokens: number[] = [];
  /** Why the choice ends here, if it does. */
  readonly finishes: (FinishReason | undefined)[] = [];

  add(
    request: R,
    choice: number,
    position: number,
    token: number,
    finish: FinishReason | undefined,
  ): void {
    const at = this.count++;
    this.requests[at] = request;
    this.choices[at] = choice;
    this.positions[at] = position;
    this.tokens[at] = token;
    this.finishes[at] = finish;
  }

  clear(): void {
    this.count = 0;
  }
}
