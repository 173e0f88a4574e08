import type { ClusterStatus, ModelStatus } from "./status.ts";
import { textTable } from "./text-table.ts";

/** A status for people: models first, since they are what one asks about. */
export function statusText(status: ClusterStatus): string {
  const models = status.models.map((model) => [
    model.model,
    model.ready ? "ready" : "not ready",
    model.activation,
    sets(model),
    model.why === null ? "" : `${model.why.code}: ${model.why.text}`,
  ]);
  const actors = status.actors.map((actor) => [
    actor.role,
    actor.id,
    actor.state,
    actor.worker_type ?? actor.api ?? "",
    String(actor.pid),
    actor.admin ?? "",
  ]);
  return [
    textTable(["MODEL", "STATE", "ACTIVATION", "WORKERS", "WHY"], models, "no models"),
    "",
    textTable(["ROLE", "ID", "STATE", "TYPE OR API", "PID", "ADMIN"], actors, "no actors answered"),
    "",
  ].join("\n");
}

function sets(model: ModelStatus): string {
  return model.sets
    .map(({ worker_type, set, live, lost, refused }) => {
      const name = set === worker_type ? worker_type : `${worker_type}/${set}`;
      const rest = [
        ...(lost > 0 ? [`${lost} lost`] : []),
        ...(refused > 0 ? [`${refused} refused`] : []),
      ];
      return `${name} ${[live, ...rest].join(", ")}`;
    })
    .join("; ");
}
