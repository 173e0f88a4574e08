import { onTestFinished } from "vitest";
import type { ApiServerOptions } from "../../src/http/api-server.ts";
import { ApiRig } from "./api-rig.ts";
import { answerHello } from "./fake-port.ts";
import { RawClient } from "./raw-client.ts";

/** An API that answers every request with a greeting, until the test is over. */
export async function rigWith(options: Partial<ApiServerOptions> = {}): Promise<ApiRig> {
  const rig = await new ApiRig(options).start();
  rig.port.onSubmit = answerHello;
  onTestFinished(() => rig.server.stop());
  return rig;
}

/** A client of its bytes, until the test is over. */
export function clientOf(server: { readonly url: string }): RawClient {
  const client = new RawClient(server.url);
  onTestFinished(() => client.close());
  return client;
}
