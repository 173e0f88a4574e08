import {
  ExplainRequest,
  frontendsQueue,
  RequestExplained,
  requestId,
  ServingError,
} from "@baton/protocol";
import type { ActorContext, BusMessage, BusSubscription, Counter } from "@baton/runtime";
import type { BodyLimits } from "../http/body-limits.ts";
import { errorAnswer, refusal } from "../http/error-body.ts";
import { BodyParser } from "../http/parse-body.ts";
import { parseJson } from "../http/parse-json.ts";
import { routeAnswer } from "../http/route-json.ts";
import { clientError } from "../relay/client-error.ts";
import type { RequestPort } from "../relay/request-port.ts";

/** What answering needs. */
export interface ExplainServiceDeps extends BodyLimits {
  readonly port: Pick<RequestPort, "explain">;
  /** Status of `overloaded`. */
  readonly overloadStatus: number;
  readonly maxBodyBytes: number;
  /** Counts questions that are no message, by the label `fact`. */
  readonly undecodable: Counter;
}

/** Answers tools on the bus that ask where a request would go, as the API answers the same body with `baton.query_only`. */
export class ExplainService {
  readonly #context: ActorContext;
  readonly #deps: ExplainServiceDeps;
  readonly #bodies: BodyParser;
  #subscription: BusSubscription | null = null;

  constructor(context: ActorContext, deps: ExplainServiceDeps) {
    this.#context = context;
    this.#deps = deps;
    this.#bodies = new BodyParser(deps);
  }

  start(): void {
    const { bus, subjects } = this.#context;
    this.#subscription = bus.subscribe(
      subjects.explainRequest(),
      (message) => void this.#answer(message),
      { queue: frontendsQueue },
    );
  }

  /** Leaves the queue group: other Frontends answer from here on. */
  async drain(): Promise<void> {
    const subscription = this.#subscription;
    this.#subscription = null;
    await subscription?.drain();
  }

  async #answer(message: BusMessage): Promise<void> {
    const id = requestId(this.#context.random.id("req"));
    const { overloadStatus, port } = this.#deps;
    const frame = { requestId: id, overloadStatus };
    let answer: RequestExplained;
    try {
      const { endpoint, body } = ExplainRequest.decode(message.payload);
      this.#refuseTooLarge(body);
      const { requests, query } = this.#bodies.parse(endpoint, parseJson(body), {
        requestId: id,
        clientRequestId: null,
        traceparent: null,
      });
      const [request, ...others] = requests;
      if (others.length > 0) throw refusal("invalid_request", "prompt must be one prompt");
      answer = routeAnswer(await port.explain(request), { ...frame, form: query ?? "baton" });
    } catch (caught) {
      const failure = ServingError.from(caught);
      if (failure.code === "malformed_message") {
        this.#deps.undecodable.add(1, { fact: "explain-request" });
        this.#context.log.warn({ err: failure }, "question not decoded");
      }
      const error = errorFor(failure);
      if (error.code === "internal") this.#context.log.error({ err: caught }, "question broke");
      answer = errorAnswer(error, { ...frame, stage: "received" });
    }
    try {
      message.respond(RequestExplained.encode({ status: answer.status, body: answer.body }));
    } catch (error) {
      // The bus is gone, and with it whoever asked.
      this.#context.log.debug({ err: error }, "explanation not sent");
    }
  }

  #refuseTooLarge(body: string): void {
    const { maxBodyBytes } = this.#deps;
    if (Buffer.byteLength(body) <= maxBodyBytes) return;
    throw refusal("payload_too_large", `the body is over ${maxBodyBytes} bytes`);
  }
}

/** Whoever sends what is no question is at fault, and not this Frontend. */
function errorFor(failure: ServingError): ServingError {
  if (failure.code !== "malformed_message") return clientError(failure);
  return new ServingError("invalid_request", { problem: failure.message }, { cause: failure });
}
