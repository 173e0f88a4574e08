import {
  hasLiveWorker,
  type ModelDirectory,
  type ServedModel,
} from "../../relay/model-directory.ts";
import { refusal } from "../error-body.ts";
import { healthAnswer, liveAnswer } from "../openapi/answer-schemas.ts";
import type { Replies } from "../replies.ts";
import type { ApiRoute } from "./api-route.ts";

/** Text of all figures of the process, for `/metrics`. */
export interface MetricsPage {
  text(): Promise<string>;
  readonly contentType: string;
}

/** What the routes about the Frontend itself stand on. */
export interface StatusRoutesDeps {
  readonly directory: ModelDirectory;
  readonly replies: Replies;
  /** Null where the host gives none. */
  readonly metricsPage: MetricsPage | null;
  /** The state of the actor: `null` while it takes requests, else why it does not. */
  whyNotServing(): string | null;
}

/** Whether the Frontend lives, whether it can serve, and its figures. */
export function statusRoutes(deps: StatusRoutesDeps): readonly ApiRoute[] {
  const { replies } = deps;
  return [
    {
      method: "GET",
      path: "/live",
      docs: [
        {
          path: "/live",
          name: "Live",
          summary: "That the Frontend lives.",
          answer: liveAnswer,
          errors: [],
        },
      ],
      handle: (request, reply) => replies.sendJson(request, reply, '{"status":"live"}'),
    },
    {
      method: "GET",
      path: "/health",
      docs: [
        {
          path: "/health",
          name: "Health",
          summary: "Whether the Frontend takes requests and any worker answers.",
          description: "503 with the same fields if not.",
          answer: healthAnswer,
          errors: [],
        },
      ],
      handle: (request, reply) => {
        const { isHealthy, body } = health(deps);
        replies.sendJson(request, reply, body, isHealthy ? 200 : 503);
      },
    },
    {
      method: "GET",
      path: "/metrics",
      docs: [
        {
          path: "/metrics",
          name: "Metrics",
          summary: "Figures, as Prometheus reads them.",
          answer: "text/plain",
          errors: ["route_not_found"],
        },
      ],
      handle: async (request, reply) => {
        const page = deps.metricsPage;
        if (page === null) throw refusal("route_not_found", "metrics are on the admin port");
        const text = await page.text();
        await reply.headers(replies.idHeader(request.raw)).type(page.contentType).send(text);
      },
    },
  ];
}

function health({ directory, whyNotServing }: StatusRoutesDeps) {
  const all = directory.all();
  const why = whyNotServing() ?? whyNotHealthy(all.filter(hasLiveWorker));
  const models = all.map((model) => ({
    id: model.name,
    ready: model.mode !== null && model.textWhy === null,
    mode: model.mode,
    why: model.why ?? model.textWhy,
  }));
  const isHealthy = why === null;
  const status = isHealthy ? "healthy" : "not_ready";
  return { isHealthy, body: JSON.stringify({ status, why, models }) };
}

/** Of the models that have workers one must be readable. */
function whyNotHealthy(live: readonly ServedModel[]): string | null {
  if (live.some(({ textWhy }) => textWhy === null)) return null;
  return live[0]?.textWhy?.text ?? "no worker answers";
}
