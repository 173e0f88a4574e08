import type { WorkerType } from "@baton/protocol";
import type { Stage } from "./stage-router.ts";

/** Which workers there are. */
export type PoolShape =
  | { readonly kind: "aggregated"; readonly workers: number }
  | { readonly kind: "disaggregated"; readonly prefill: number; readonly decode: number };

/** The stages that a request passes, in order, with the number of their workers. */
export function stagesOf(
  shape: PoolShape,
): readonly { readonly stage: Stage & WorkerType; readonly workers: number }[] {
  return shape.kind === "aggregated"
    ? [{ stage: "aggregated", workers: shape.workers }]
    : [
        { stage: "prefill", workers: shape.prefill },
        { stage: "decode", workers: shape.decode },
      ];
}
