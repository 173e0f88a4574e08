import type { ServingError } from "@baton/protocol";
import { type ModelDirectory, modelNotFound, type ServedModel } from "../relay/model-directory.ts";

/** The body of `GET /v1/models`. */
export function modelList(directory: ModelDirectory): string {
  return JSON.stringify({ object: "list", data: directory.all().map(modelObject) });
}

/** The body of `GET /v1/models/<id>`. Throws `model_not_found`. */
export function modelEntry(directory: ModelDirectory, name: string): string {
  const model = directory.find(name);
  if (model === undefined) throw modelNotFound(directory, name);
  return JSON.stringify(modelObject(model));
}

/** What a model needs to be served, and what of it there is. `failure`: the error of a request that came now; null if it would be served. */
export function modelReadinessEntry(
  { name, mode, sets, missing, ambiguous }: ServedModel,
  failure: ServingError | null,
) {
  const present = sets.filter(({ workers }) => workers.some(({ state }) => state === "live"));
  const why = failure?.details.why;
  return {
    object: "model.readiness",
    id: name,
    ready: failure === null,
    mode: failure === null ? mode : null,
    why:
      failure === null
        ? null
        : { code: typeof why === "string" ? why : failure.code, text: failure.message },
    roles: sets.map(({ workerType, set, needs, workers }) => ({
      role: workerType,
      set,
      needs,
      workers,
    })),
    present: [...new Set(present.map(({ workerType }) => workerType))],
    missing,
    ambiguous,
  };
}

function modelObject({ name, card, mode, why, textWhy, sinceMs }: ServedModel) {
  return {
    id: name,
    object: "model",
    created: Math.floor(sinceMs / 1000),
    owned_by: "baton",
    max_model_len: card?.contextLength ?? null,
    ready: mode !== null && textWhy === null,
    mode,
    why: why ?? textWhy,
  };
}
