import { type Cluster, startCluster } from "../../support/processes/index.ts";

/** The model that clients ask, served by a prefill and a decode worker. */
export const model = "org/relay";
/** The Frontend that takes one request at a time. */
export const narrow = "narrow";

/** What the workers of the model are started with. */
export const workerFlags = { "mock-prefill-ms": 2, "mock-decode-ms": 2, "block-size": 16 };

/** A cluster for one suite of clients: the model behind two Frontends, one of which has room for one request. */
export async function startClientCluster(): Promise<Cluster> {
  const cluster = await startCluster({
    model,
    flags: workerFlags,
    also: [{ role: "frontend", id: narrow, flags: { "max-in-flight": 1, "overload-status": 429 } }],
  });
  await cluster.untilServing(model, narrow);
  return cluster;
}
