import { createServer } from "node:net";
import { type Cluster, heldGauges, samples } from "../processes/index.ts";
import type { EndCounts } from "./end-ledger.ts";
import type { Sample } from "./flatness.ts";
import type { ProcessProbe } from "./process-probe.ts";

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

/** What every actor holds after a garbage collection, by id. Nothing should run. */
export async function sampleActors(
  cluster: Cluster,
  probe: ProcessProbe,
  monitor: number,
  requests: number,
): Promise<ReadonlyMap<string, Sample>> {
  const subscriptions = await subscriptionsById(monitor);
  const found = new Map<string, Sample>();
  for (const id of [...cluster.admins.keys()].sort()) {
    const held = await probe.held(cluster.process(id).pid);
    const figures = { ...held, subscriptions: subscriptions.get(id) ?? 0 };
    found.set(id, { requests, figures });
  }
  return found;
}

interface Connections {
  readonly connections: readonly { readonly name?: string; readonly subscriptions: number }[];
}

async function subscriptionsById(monitor: number): Promise<ReadonlyMap<string, number>> {
  const answer = await fetch(`http://127.0.0.1:${monitor}/connz?limit=1024`);
  const { connections } = (await answer.json()) as Connections;
  return new Map(connections.map(({ name, subscriptions }) => [name ?? "", subscriptions]));
}

/** Every gauge of what is held that is not zero, on any actor, as a line of text each. */
export async function heldGaugesOf(cluster: Cluster): Promise<readonly string[]> {
  const pages = await pagesById(cluster);
  return [...pages].flatMap(([id, page]) =>
    heldGauges.flatMap((name) => {
      const values = samples(page, name).filter((value) => value !== 0);
      return values.length === 0 ? [] : [`${id}: ${name} is ${values.join(", ")}`];
    }),
  );
}

/** Ends that the Frontends have counted. */
export async function countedEnds(cluster: Cluster): Promise<EndCounts> {
  const count = (outcome: string) => cluster.metrics("baton_frontend_requests_total", { outcome });
  return {
    completed: await count("completed"),
    failed: await count("failed"),
    cancelled: await count("cancelled"),
  };
}

async function pagesById(cluster: Cluster): Promise<ReadonlyMap<string, string>> {
  const entries = [...cluster.admins].map(async ([id, admin]) => {
    const answer = await fetch(`${admin}/metrics`, { signal: AbortSignal.timeout(5_000) });
    return [id, await answer.text()] as const;
  });
  return new Map(await Promise.all(entries));
}
