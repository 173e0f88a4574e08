import type { Selection } from "@baton/kv-router";
import { ServingError } from "@baton/protocol";

/**
 * The error of a choice that found nobody; null when it may wait for room. Who is over a busy threshold is to be spared
 * more work, not to have it queued: only a request whose KV is staged waits for that.
 */
export function refusalOf(
  selection: Exclude<Selection, { kind: "selected" }>,
  isStaged: boolean,
): ServingError | null {
  if (selection.kind === "invalid_pin") {
    const code = selection.fault === "unknown_worker" ? "unknown_worker" : "invalid_request";
    return new ServingError(code, { problem: selection.text });
  }
  if (selection.kind === "policy_failed") {
    return new ServingError("internal", { problem: selection.text });
  }
  const { missingTaints, counts, text: problem } = selection.detail;
  switch (selection.reason) {
    case "no_workers":
      return new ServingError("not_ready", { problem });
    case "all_excluded": {
      // Workers that all drain are as good as none: no rule of the request keeps it out.
      const areAllDraining = Object.keys(counts).every((why) => why === "draining");
      return areAllDraining
        ? new ServingError("not_ready", { problem })
        : new ServingError("no_worker_available", { problem, missingTaints });
    }
    case "all_busy": {
      const hasOthers = counts.at_limit !== undefined || counts.refusing !== undefined;
      const areOverloaded = counts.overloaded !== undefined && !hasOthers;
      return areOverloaded && !isStaged ? new ServingError("overloaded", { problem }) : null;
    }
  }
}
