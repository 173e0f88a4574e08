import type { Subjects } from "@baton/protocol";
import type { AdminServer, Bus, Clock } from "@baton/runtime";
import { Tail } from "../bus-tools/tail.ts";

/** Bytes that may wait for a slow reader; beyond them lines are dropped, and the next line that fits says how many. */
const backlogLimitBytes = 4 * 1024 * 1024;

/** Serves `/tail` on an admin port: every message as a line of JSON, until the reader leaves. */
export function serveTail(
  admin: AdminServer,
  deps: { readonly bus: Bus; readonly subjects: Subjects; readonly clock: Clock },
): void {
  admin.handle("/tail", (_url, response) => {
    let dropped = 0;
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.flushHeaders();
    const tail = new Tail(deps, (line) => {
      if (response.writableLength > backlogLimitBytes) {
        dropped += 1;
        return;
      }
      response.write(`${JSON.stringify(dropped === 0 ? line : { ...line, dropped })}\n`);
      dropped = 0;
    });
    response.once("close", () => tail.stop());
  });
}
