import type { TierWeights } from "./selection-policy.ts";
import type { WorkerCandidate } from "./worker-selector.ts";

/** Where a rank holds the leading blocks of a prompt. */
export type TierOverlap = Pick<
  WorkerCandidate,
  "overlapBlocks" | "hostOverlapBlocks" | "diskOverlapBlocks"
>;

/** Prompt tokens that a rank holds, those outside its device by the weight of their tier. A whole number. */
export function cachedTokensOf(
  overlap: TierOverlap,
  blockSize: number,
  { host, disk }: TierWeights,
): number {
  const { overlapBlocks, hostOverlapBlocks, diskOverlapBlocks } = overlap;
  return Math.round(
    (overlapBlocks + host * hostOverlapBlocks + disk * diskOverlapBlocks) * blockSize,
  );
}
