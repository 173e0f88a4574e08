import { docsPage } from "../openapi/docs-page.ts";
import { type OpenApiDocument, openApiDocument } from "../openapi/openapi-document.ts";
import { jsonType, type Replies } from "../replies.ts";
import type { ApiRoute, RouteDoc } from "./api-route.ts";

/** The API's own description, for programs and for people. `routes`: all of the API, these two among them. */
export function documentRoutes(
  routes: () => readonly ApiRoute[],
  replies: Replies,
): readonly ApiRoute[] {
  const document = once(() => openApiDocument(routes()));
  const json = once(() => JSON.stringify(document()));
  const page = once(() => docsPage(document()));
  return [
    pageRoute(
      { path: "/openapi.json", name: "ApiDescription", summary: "This API as OpenAPI 3.1." },
      { "content-type": jsonType },
      json,
    ),
    pageRoute(
      { path: "/docs", name: "ApiPage", summary: "This API as a page." },
      {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      },
      page,
    ),
  ];

  function pageRoute(
    said: Pick<RouteDoc, "path" | "name" | "summary">,
    headers: Readonly<Record<"content-type", string> & Record<string, string>>,
    text: () => string,
  ): ApiRoute {
    const [answer = ""] = headers["content-type"].split(";", 1);
    return {
      method: "GET",
      path: said.path,
      docs: [{ ...said, answer, errors: [] }],
      handle: (request, reply) => {
        replies.writeWhole(request.raw, reply.raw, { status: 200, headers, body: text() });
      },
    };
  }
}

/** Made when first asked for: most Frontends are never asked. */
function once<T extends string | OpenApiDocument>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
