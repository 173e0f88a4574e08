import type { ServingError } from "@baton/protocol";
import type { FastifyRequest } from "fastify";
import {
  type ModelDirectory,
  modelNotFound,
  type ServedModel,
} from "../../relay/model-directory.ts";
import { type ErrorAnswer, errorObject } from "../error-body.ts";
import { modelEntry, modelList, modelReadinessEntry } from "../model-list.ts";
import { modelAnswer, modelsAnswer, readinessAnswer } from "../openapi/answer-schemas.ts";
import type { Replies } from "../replies.ts";
import { jsonType } from "../replies.ts";
import { type ApiRoute, pathRest } from "./api-route.ts";

/** What the routes about models stand on. */
export interface ModelRoutesDeps {
  readonly directory: ModelDirectory;
  readonly replies: Replies;
  /** Why a request of a model would not be served now; null if it would. */
  whyUnready(model: ServedModel): ServingError | null;
}

/** The models that are served, all and one by one, and what each needs. */
export function modelRoutes(deps: ModelRoutesDeps): readonly ApiRoute[] {
  const { directory, replies } = deps;
  return [
    {
      method: "GET",
      path: "/v1/models",
      docs: [
        {
          path: "/v1/models",
          name: "Models",
          summary: "All models.",
          answer: modelsAnswer,
          errors: [],
        },
      ],
      handle: (request, reply) => replies.sendJson(request, reply, modelList(directory)),
    },
    {
      method: "GET",
      path: "/v1/models/*",
      docs: [
        {
          path: "/v1/models/{model}",
          name: "Model",
          summary: "One model.",
          description: "Slashes in its name may be written plain or as `%2F`.",
          answer: modelAnswer,
          errors: ["model_not_found", "not_ready"],
        },
        {
          path: "/v1/models/{model}/ready",
          name: "Readiness",
          summary: "What a model needs, and what of it there is.",
          description:
            "503 with the error of a request that came now, and the same fields beside it, if it would not be served, or would wait until the model's tokenizer is loaded.",
          answer: readinessAnswer,
          errors: ["model_not_found", "not_ready", "prefill_activating"],
        },
      ],
      handle: (request, reply) => {
        const name = pathRest(request);
        const asked = readinessOf(directory, name);
        if (asked === null) replies.sendJson(request, reply, modelEntry(directory, name));
        else replies.writeWhole(request.raw, reply.raw, readiness(deps, asked, request));
      },
    },
  ];
}

const readySuffix = "/ready";

/** The model whose readiness is asked for; null if it is the model itself, whose name may end like that. */
function readinessOf(directory: ModelDirectory, path: string): ServedModel | null {
  if (!path.endsWith(readySuffix) || directory.find(path) !== undefined) return null;
  const name = path.slice(0, -readySuffix.length);
  const model = directory.find(name);
  if (model === undefined) throw modelNotFound(directory, name);
  return model;
}

/** The status and the error that a request of the model would get, with what there is of it beside. */
function readiness(
  { replies, whyUnready }: ModelRoutesDeps,
  model: ServedModel,
  { raw }: FastifyRequest,
): ErrorAnswer {
  const failure = whyUnready(model);
  const entry = modelReadinessEntry(model, failure);
  if (failure === null) {
    return { status: 200, headers: { "content-type": jsonType }, body: JSON.stringify(entry) };
  }
  const answer = replies.errorAnswer(raw, failure, "received");
  const error = errorObject(failure, "received", replies.idOf(raw));
  return { ...answer, body: JSON.stringify({ error, ...entry }) };
}
