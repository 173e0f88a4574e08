import { ExplainRequest } from "@baton/protocol";
import type { AdminServer } from "@baton/runtime";
import { type AskDeps, askFrontend } from "../bus-tools/explain.ts";

/**
 * Serves `POST /route/explain` on an admin port: the bytes of an `explain-request`, answered with the status and JSON that
 * the API would give.
 */
export function serveExplain(admin: AdminServer, deps: AskDeps): void {
  admin.handlePost("/route/explain", async (bytes, response) => {
    const { status, body } = await askFrontend(deps, ExplainRequest.decode(bytes));
    response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
    response.end(body);
  });
}
