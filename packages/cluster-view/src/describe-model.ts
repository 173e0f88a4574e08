import { gatherWorkerSets, modelReadiness } from "@baton/kv-router";
import type { CatalogModel, CatalogWorker } from "@baton/protocol";

/** What a catalog says about one model, from the workers that it lists: its sets, and whether they can serve. */
export function describeModel(model: string, workers: readonly CatalogWorker[]): CatalogModel {
  const facts = gatherWorkerSets(workers);
  const { ready, why } = modelReadiness(facts);
  const sets = facts.map(({ workerType, set, live }) => {
    const members = workers.filter(
      ({ registration }) => registration.workerType === workerType && registration.set === set,
    );
    return {
      workerType,
      set,
      live,
      lost: members.filter((member) => member.state === "lost").length,
      refused: members.filter((member) => member.state === "refused").length,
    };
  });
  return { model, ready, why: why ?? null, sets };
}
