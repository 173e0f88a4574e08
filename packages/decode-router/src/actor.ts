import {
  type ActorState,
  type ModelName,
  modelName,
  RouteDecode,
  ServingError,
} from "@baton/protocol";
import { Router, type RouterSettings, routerOptions } from "@baton/routing";
import type { ActorContext, ActorDefinition, ActorInstance } from "@baton/runtime";
import { decodePolicy } from "./policy.ts";

/** The DecodeRouter: which decode or aggregated worker generates an answer. */
export const decodeRouter: ActorDefinition<RouterSettings> = {
  role: "decode-router",
  options: routerOptions("decode-router"),
  create: (ctx, settings) => new DecodeRouterActor(ctx, settings),
};

class DecodeRouterActor implements ActorInstance {
  readonly #router: Router<RouteDecode>;
  #accepting = false;

  constructor(ctx: ActorContext, settings: RouterSettings) {
    this.#router = new Router(ctx, settings, {
      message: RouteDecode,
      workerRole: "decode",
      policy: () => decodePolicy,
    });
    this.#router.view.onChange(() => this.#follow());
  }

  start(): Promise<void> {
    return this.#router.start();
  }

  onState(state: ActorState): void {
    this.#accepting = state === "ready" || state === "degraded";
    this.#follow();
  }

  async drain(): Promise<void> {
    this.#accepting = false;
    this.#router.drain();
  }

  async stop(): Promise<void> {
    this.#router.stop();
  }

  /** Serves every model that has a worker which generates. */
  #follow(): void {
    const served = new Set<ModelName>();
    for (const { model, workers } of this.#router.view.models()) {
      const generates = workers.some(
        ({ workerType, state }) => workerType !== "prefill" && state !== "lost",
      );
      if (generates) served.add(modelName(model));
    }
    if (this.#accepting) for (const model of served) this.#router.host(model).serve();
    for (const model of this.#router.models()) {
      if (served.has(model)) continue;
      this.#router
        .host(model)
        .hold(new ServingError("not_ready", { problem: "no worker generates" }));
    }
  }
}
