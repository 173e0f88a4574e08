import {
  Catalog,
  ExplainRequest,
  RequestExplained,
  ServingError,
  type Subjects,
} from "@baton/protocol";
import type { Bus } from "@baton/runtime";

/** What the API answers to a request that only asks where it would go, as far as it is shown. */
export interface RouteAnswer {
  readonly error?: {
    readonly message: string;
    readonly code: string;
    readonly param: string | null;
    readonly stage: string;
  };
  readonly model?: string;
  readonly mode?: string | null;
  readonly candidates?: readonly RouteCandidate[];
  readonly selected?: RoutePair<string>;
  readonly selected_dp_ranks?: RoutePair<number>;
  readonly waits?: readonly string[];
  readonly routers?: Readonly<
    Partial<Record<"prefill" | "decode", { readonly id: string; readonly mode: string }>>
  >;
  readonly decode_constraints?: {
    readonly required: readonly string[];
    readonly preferred: Readonly<Record<string, number>>;
  } | null;
  readonly ignored?: readonly string[];
  readonly prompt_tokens?: number;
  readonly block_size?: number;
}

/** One value for each leg; null where there is none. */
export interface RoutePair<T> {
  readonly prefill: T | null;
  readonly decode: T | null;
}

/** One rank that a router looked at. */
export interface RouteCandidate {
  readonly role: string;
  readonly worker: string;
  readonly dp_rank: number;
  readonly eligible: boolean;
  readonly why?: string;
  readonly cost: number | null;
  readonly terms: Readonly<Record<string, number>>;
  readonly cached_tokens: number;
}

/** A bus to ask on. */
export interface AskDeps {
  readonly bus: Bus;
  readonly subjects: Subjects;
}

/** A Frontend may have to fetch a tokenizer first. */
const answerTimeoutMs = 15_000;
const catalogTimeoutMs = 1_000;

/** Asks a Frontend where a request would go. Rejects with `not_ready` if none serves the namespace. */
export async function askFrontend(
  { bus, subjects }: AskDeps,
  question: ExplainRequest,
): Promise<RequestExplained> {
  const payload = ExplainRequest.encode(question);
  try {
    const reply = await bus.request(subjects.explainRequest(), payload, {
      timeoutMs: answerTimeoutMs,
    });
    return RequestExplained.decode(reply);
  } catch (error) {
    throw explained(error, "Frontend", "no_frontend", subjects);
  }
}

/** The models of the namespace. Rejects if Discovery does not answer; with `not_ready` if there is none. */
export async function modelNames({ bus, subjects }: AskDeps): Promise<readonly string[]> {
  try {
    const reply = await bus.request(subjects.getCatalog(), new Uint8Array(), {
      timeoutMs: catalogTimeoutMs,
    });
    return Catalog.decode(reply).models.map(({ model }) => model);
  } catch (error) {
    throw explained(error, "Discovery", "no_discovery", subjects);
  }
}

/** Where nobody listens, says who is missing where: most often the namespace is another one. */
function explained(caught: unknown, who: string, why: string, subjects: Subjects): ServingError {
  const error = ServingError.from(caught);
  if (error.code !== "no_responders") return error;
  const problem = `no ${who} serves the namespace "${subjects.namespace}"`;
  return new ServingError("not_ready", { problem, why }, { cause: error });
}
