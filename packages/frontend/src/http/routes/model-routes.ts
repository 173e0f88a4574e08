import type { ModelDirectory } from "../../relay/model-directory.ts";
import { modelEntry, modelList } from "../model-list.ts";
import type { Replies } from "../replies.ts";
import { type ApiRoute, pathRest } from "./api-route.ts";

/** The models that are served, all and one by one. */
export function modelRoutes(directory: ModelDirectory, replies: Replies): readonly ApiRoute[] {
  return [
    {
      method: "GET",
      path: "/v1/models",
      handle: (request, reply) => replies.sendJson(request, reply, modelList(directory)),
    },
    {
      method: "GET",
      path: "/v1/models/*",
      handle: (request, reply) =>
        replies.sendJson(request, reply, modelEntry(directory, pathRest(request))),
    },
  ];
}
