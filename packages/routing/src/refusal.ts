import type { Selection } from "@baton/kv-router";
import { ServingError } from "@baton/protocol";

/** The error of a choice that found nobody; null when waiting may help. */
export function refusalOf(
  selection: Exclude<Selection, { kind: "selected" }>,
): ServingError | null {
  if (selection.kind === "invalid_pin") {
    const code = selection.fault === "unknown_worker" ? "unknown_worker" : "invalid_request";
    return new ServingError(code, { problem: selection.text });
  }
  const problem = selection.detail.text;
  switch (selection.reason) {
    case "no_workers":
      return new ServingError("not_ready", { problem });
    case "all_excluded":
      return new ServingError("no_worker_available", {
        problem,
        missingTaints: selection.detail.missingTaints,
      });
    case "all_busy":
      return null;
  }
}
