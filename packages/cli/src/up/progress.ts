import type { ClusterStatus } from "../bus-tools/status.ts";
import type { PlannedActor } from "./plan.ts";

/**
 * What a cluster still waits for before a completion can be served: one phrase each; empty when nothing is missing.
 * `unready` is what the Frontend's API says of the model's readiness: its tokenizer may still be loading.
 */
export function missingFor(
  plan: readonly PlannedActor[],
  model: string,
  status: ClusterStatus,
  unready: string | null,
): readonly string[] {
  const byId = new Map(status.actors.map((actor) => [actor.id, actor]));
  const actors = plan.flatMap(({ id, role }) => {
    const actor = byId.get(id);
    if (actor === undefined) return [`${role} ${id} to start`];
    return actor.state === "ready" ? [] : [`${role} ${id} (${actor.state})`];
  });
  if (actors.length > 0) return actors;
  const entry = status.models.find((candidate) => candidate.model === model);
  if (entry === undefined) return [`Discovery to list ${model}`];
  if (!entry.ready) return [`${model}: ${entry.why?.text ?? "not ready"}`];
  return unready === null ? [] : [`the Frontend: ${unready}`];
}
