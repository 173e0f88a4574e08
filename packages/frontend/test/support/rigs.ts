import { afterEach } from "vitest";
import type { ApiServerOptions } from "../../src/http/api-server.ts";
import { ApiRig } from "./api-rig.ts";
import type { WorkerSpec } from "./fake-view.ts";

/** Starts APIs that end with their test. Called once in a file. */
export function apiRigs() {
  const rigs: ApiRig[] = [];
  afterEach(async () => {
    for (const rig of rigs.splice(0)) await rig.server.stop();
  });
  return async (
    options: Partial<ApiServerOptions> = {},
    workers?: readonly WorkerSpec[],
  ): Promise<ApiRig> => {
    const rig = await new ApiRig(options, workers).start();
    rigs.push(rig);
    return rig;
  };
}
