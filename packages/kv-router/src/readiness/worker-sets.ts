import type { CatalogWorker, WorkerType } from "@baton/protocol";

/** OR of ANDs of worker types that must live for a worker to serve. Empty: no peers needed. */
export type WorkerNeeds = readonly (readonly WorkerType[])[];

/** The workers of one type and set that serve one model in one namespace. */
export interface WorkerSetFacts {
  readonly workerType: WorkerType;
  readonly set: string;
  /** Workers that take requests. A set with none stands in the catalog, but counts for nothing. */
  readonly live: number;
  /** What all of the live workers need together. */
  readonly needs: WorkerNeeds;
  /** Card fields in which refused workers of the set differ from the serving ones. */
  readonly conflicts: readonly string[];
}

/** Gathers the workers of one model into their sets, in order of type and name. */
export function gatherWorkerSets(workers: readonly CatalogWorker[]): readonly WorkerSetFacts[] {
  const groups = new Map<string, CatalogWorker[]>();
  for (const worker of workers) {
    const key = JSON.stringify([worker.registration.workerType, worker.registration.set]);
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [worker]);
    else members.push(worker);
  }
  return [...groups]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, members]) => factsOf(members));
}

/** What is needed when both are needed. */
export function bothNeeds(left: WorkerNeeds, right: WorkerNeeds): WorkerNeeds {
  if (needsNobody(left)) return right;
  if (needsNobody(right)) return left;
  return left.flatMap((one) => right.map((other) => [...new Set([...one, ...other])]));
}

/** Whether the needs are met by no peers at all. */
export function needsNobody(needs: WorkerNeeds): boolean {
  return needs.length === 0 || needs.some((alternative) => alternative.length === 0);
}

/** The absent types of all alternatives; empty if some alternative is met. */
export function unmetNeeds(
  needs: WorkerNeeds,
  present: ReadonlySet<WorkerType>,
): readonly WorkerType[] {
  const isMet = needs.some((alternative) => alternative.every((type) => present.has(type)));
  if (needs.length === 0 || isMet) return [];
  return [...new Set(needs.flat())].filter((type) => !present.has(type));
}

function factsOf(members: readonly CatalogWorker[]): WorkerSetFacts {
  const { workerType, set } = members[0]!.registration;
  const live = members.filter((member) => member.state === "live");
  const refused = members.filter((member) => member.state === "refused");
  const fields = refused.flatMap((member) => member.conflicts.map(({ field }) => field));
  return {
    workerType,
    set,
    live: live.length,
    needs: distinctNeeds(live).reduce(bothNeeds, []),
    conflicts: [...new Set(fields)].sort(),
  };
}

/** One of each: equal needs multiplied with each other would only grow. */
function distinctNeeds(workers: readonly CatalogWorker[]): readonly WorkerNeeds[] {
  const byText = new Map<string, WorkerNeeds>();
  for (const { registration } of workers) {
    byText.set(JSON.stringify(registration.needs), registration.needs);
  }
  return [...byText.values()];
}
