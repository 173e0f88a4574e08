import type { OutputPlan } from "./engine-request.ts";
import { mockCandidates, mockLogprobOf } from "./mock-logprobs.ts";

/** What turns an output away from its plan. */
export interface Steering {
  /** The first 32 bits of the prompt's hash. */
  readonly promptHash: number;
  /** Which choice of the request, 0…n-1. */
  readonly choice: number;
  readonly vocabularySize: number;
  /** By token id, what is added to the logarithm of its probability. */
  readonly bias: ReadonlyMap<number, number>;
  /** Whether a token may not stand at an output position. It does all the same if no other candidate may. */
  readonly isBanned: (position: number, token: number) => boolean;
}

/**
 * A plan under `logit_bias` and bans: at each position the token that is the likeliest with them, where the planned one is
 * the likeliest without. A bias of 100 forces a token and one of -100 forbids it, as in a real engine.
 */
export class SteeredPlan implements OutputPlan {
  private readonly plan: OutputPlan;
  private readonly steering: Steering;

  constructor(plan: OutputPlan, steering: Steering) {
    this.plan = plan;
    this.steering = steering;
  }

  next(index: number): number | undefined {
    const planned = this.plan.next(index);
    if (planned === undefined) return undefined;
    const { bias, isBanned } = this.steering;
    return bias.size === 0 && !isBanned(index, planned) ? planned : this.steer(index, planned);
  }

  private steer(position: number, planned: number): number {
    const { promptHash, choice, vocabularySize, bias, isBanned } = this.steering;
    const query = { promptHash, choice, position, token: planned, vocabularySize };
    let best = planned;
    let bestScore = Number.NEGATIVE_INFINITY;
    const consider = (token: number, logprob: number): void => {
      const score = logprob + (bias.get(token) ?? 0);
      if (score <= bestScore || isBanned(position, token)) return;
      best = token;
      bestScore = score;
    };
    for (const { token, logprob } of mockCandidates(query)) consider(token, logprob);
    for (const token of bias.keys()) consider(token, mockLogprobOf(query, token));
    return best;
  }
}
