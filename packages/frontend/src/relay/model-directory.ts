import type { ClusterView, ModelView, WorkerView } from "@baton/cluster-view";
import { gatherWorkerSets, modelReadiness, type WorkerSetFacts } from "@baton/kv-router";
import {
  type ModelCard,
  type ModelName,
  ServingError,
  type Why,
  type WorkerType,
} from "@baton/protocol";
import type { ServingMode } from "../request/request-sink.ts";
import { servedCard } from "./served-card.ts";

/** The workers of one type and set of a model. */
export interface ServedSet extends Pick<WorkerSetFacts, "workerType" | "set" | "needs"> {
  readonly workers: readonly Pick<WorkerView, "id" | "state">[];
}

/** One model as requests meet it. */
export interface ServedModel {
  readonly name: ModelName;
  /** What requests may ask of all workers that they go through. Null if no worker is known that says what the model is. */
  readonly card: ModelCard | null;
  /** How requests are served; null if they are not, and then `why` is set. */
  readonly mode: ServingMode | null;
  readonly why: Why | null;
  /** Why its prompts cannot be read yet; null if they can. Requests wait for that. */
  readonly textWhy: Why | null;
  /** In order of type and name. */
  readonly sets: readonly ServedSet[];
  /** Types that live workers wait for. */
  readonly missing: readonly WorkerType[];
  /** Types with more than one live set. */
  readonly ambiguous: readonly WorkerType[];
  /** When the first of its workers started, epoch ms; 0 if there is none. */
  readonly sinceMs: number;
}

/** Why the text of a model is not there, by its name and the checksum of its tokenizer; null if it is. */
type WhyNoText = (model: ModelName, checksum: string) => Why | null;

/** What is served, worked out once per change of the cluster and not once per request. */
export class ModelDirectory {
  readonly #view: Pick<ClusterView, "model" | "models">;
  readonly #whyNoText: WhyNoText;
  readonly #known = new Map<string, ServedModel>();

  constructor(view: Pick<ClusterView, "model" | "models">, whyNoText: WhyNoText = () => null) {
    this.#view = view;
    this.#whyNoText = whyNoText;
  }

  /** Forgets what was worked out: the cluster or a text has changed. */
  changed(): void {
    this.#known.clear();
  }

  /** A model by its name; undefined if nobody has ever offered it. */
  find(name: string): ServedModel | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const view = this.#view.model(name);
    if (view === undefined) return undefined;
    const served = describe(view, this.#whyNoText);
    this.#known.set(name, served);
    return served;
  }

  /** All models. */
  all(): readonly ServedModel[] {
    return this.#view.models().flatMap(({ model }) => this.find(model) ?? []);
  }
}

function describe({ model, catalog, workers }: ModelView, whyNoText: WhyNoText): ServedModel {
  const facts = gatherWorkerSets(
    workers.map(({ registration, state }) => ({ registration, state, conflicts: [] })),
  );
  const { mode, why, missing, ambiguous } = modelReadiness(facts);
  const starts = workers.map(({ generation }) => generation);
  const card = servedCard(workers, mode ?? null);
  return {
    name: model,
    card,
    mode: mode ?? null,
    why: mode === undefined ? (catalog.why ?? why ?? null) : null,
    textWhy: card && whyNoText(model, card.tokenizerChecksum),
    sets: facts.map(({ workerType, set, needs }) => ({
      workerType,
      set,
      needs,
      workers: workers
        .filter((one) => one.workerType === workerType && one.registration.set === set)
        .map(({ id, state }) => ({ id, state })),
    })),
    missing,
    ambiguous,
    sinceMs: starts.length === 0 ? 0 : Math.min(...starts),
  };
}

/** Whether any worker takes requests. */
export function hasLiveWorker({ sets }: Pick<ServedModel, "sets">): boolean {
  return sets.some(({ workers }) => workers.some(({ state }) => state === "live"));
}

const maxShown = 300;

/** An unknown model, with its name and what there is. While nothing is offered at all it may still come. */
export function modelNotFound(directory: Pick<ModelDirectory, "all">, name: string): ServingError {
  const served = directory.all().map((model) => model.name);
  if (served.length === 0) {
    const problem = "no worker offers a model yet";
    return new ServingError("not_ready", { problem, why: "no_workers" });
  }
  const shown = name.length > maxShown ? `${name.slice(0, maxShown)}…` : name;
  const problem = `the model '${shown}' does not exist; served here: ${served.join(", ")}`;
  return new ServingError("model_not_found", { param: "model", problem });
}
