import type { TwoTierOptions } from "./policy-parameters.ts";
import type { Choice, Scorer } from "./selection-policy.ts";
import type { WorkerCandidate } from "./worker-selector.ts";

/**
 * Two orders, of which each choice uses one. By prefix, if some candidate holds enough of the prompt and the load is
 * balanced: most blocks on the device, then fewest requests. Else by load: fewest requests, then most blocks on the device.
 * Costs are whole numbers of the first plus a fraction for the second.
 */
export class TwoTierScorer implements Scorer {
  readonly name = "two-tier";
  readonly #options: TwoTierOptions;
  #promptBlocks = 0;
  #goesByPrefix = false;

  constructor(options: TwoTierOptions) {
    this.#options = options;
  }

  begin({ request, eligible }: Choice): void {
    this.#promptBlocks = request.promptBlocks;
    let best = 0;
    let fewest = Number.POSITIVE_INFINITY;
    let most = 0;
    for (let index = 0; index < eligible.length; index++) {
      const { overlapBlocks, requestsInFlight } = eligible[index]!;
      best = Math.max(best, overlapBlocks);
      fewest = Math.min(fewest, requestsInFlight);
      most = Math.max(most, requestsInFlight);
    }
    const { cacheThreshold, balanceAbsThreshold, balanceRelThreshold } = this.#options;
    const isBalanced = most - fewest <= balanceAbsThreshold || most <= balanceRelThreshold * fewest;
    this.#goesByPrefix = isBalanced && this.#share(best) >= cacheThreshold;
  }

  cost({ overlapBlocks, requestsInFlight }: WorkerCandidate): number {
    return this.#goesByPrefix
      ? Math.max(0, this.#promptBlocks - overlapBlocks) + 1 - 1 / (2 + requestsInFlight)
      : requestsInFlight + 1 + (1 - this.#share(overlapBlocks)) / 2;
  }

  terms({ overlapBlocks, requestsInFlight }: WorkerCandidate): Readonly<Record<string, number>> {
    return {
      requests_in_flight: requestsInFlight,
      device_overlap_blocks: overlapBlocks,
      overlap_share: this.#share(overlapBlocks),
      by_prefix: this.#goesByPrefix ? 1 : 0,
    };
  }

  /** 0…1. */
  #share(overlapBlocks: number): number {
    return this.#promptBlocks === 0 ? 0 : Math.min(1, overlapBlocks / this.#promptBlocks);
  }
}
