import { ServingError } from "@baton/protocol";
import { type Bus, noMetrics, silentLogger } from "@baton/runtime";
import { Publisher } from "../../src/publisher.ts";

/** A publisher whose messages a test can read, and whose bus it can take away. */
export function recordingPublisher() {
  const sent: { readonly subject: string; readonly payload: Uint8Array }[] = [];
  const link = { isUp: true };
  const bus = {
    publish: (subject: string, payload: Uint8Array) => {
      if (!link.isUp) throw new ServingError("bus_unavailable");
      sent.push({ subject, payload });
    },
  } as unknown as Bus;
  return { sent, link, publisher: new Publisher({ bus, log: silentLogger(), metrics: noMetrics }) };
}
