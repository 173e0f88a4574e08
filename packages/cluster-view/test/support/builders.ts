import type { ActorHeartbeat, Catalog, CatalogWorker, LoadReport } from "@baton/protocol";
import { actorHeartbeat, catalog, loadReport, registrationOf } from "@baton/testing";
import { describeModel } from "../../src/describe-model.ts";

/** A worker of a catalog; its type is the first letter of its id: `p1`, `d2`, `a3`. */
export function catalogWorker(
  id: string,
  generation = 1,
  state: CatalogWorker["state"] = "live",
): CatalogWorker {
  const conflicts =
    state === "refused" ? [{ field: "blockSize", serving: "64", offered: "16" }] : [];
  return { registration: registrationOf(id, { generation }), state, conflicts };
}

/** A catalog of epoch 1, with models as Discovery describes them. */
export function catalogWith(
  workers: readonly CatalogWorker[],
  mark: Partial<Pick<Catalog, "epoch" | "revision" | "complete">> = {},
): Catalog {
  const names = [...new Set(workers.map(({ registration }) => registration.card.model))];
  const models = names.map((name) =>
    describeModel(
      name,
      workers.filter(({ registration }) => registration.card.model === name),
    ),
  );
  return catalog(workers, { epoch: 1, ...mark, models });
}

/** A life sign of generation 1. */
export function heartbeatWith(id: string, changes: Partial<ActorHeartbeat> = {}): ActorHeartbeat {
  return actorHeartbeat(id, { generation: 1, ...changes });
}

/** A load report of generation 1. */
export function loadWith(id: string, changes: Partial<LoadReport> = {}): LoadReport {
  return loadReport(id, { generation: 1, ...changes });
}
