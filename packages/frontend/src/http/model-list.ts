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

function modelObject({ name, card, mode, why, sinceMs }: ServedModel) {
  return {
    id: name,
    object: "model",
    created: Math.floor(sinceMs / 1000),
    owned_by: "baton",
    max_model_len: card?.contextLength ?? null,
    ready: mode !== null,
    mode,
    why,
  };
}
