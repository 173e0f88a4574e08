import type { ModelView } from "@baton/cluster-view";
import { type ActorState, type ModelName, RouteDecode, ServingError } from "@baton/protocol";
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

  constructor(ctx: ActorContext, settings: RouterSettings) {
    this.#router = new Router(ctx, settings, {
      message: RouteDecode,
      workerRole: "decode",
      workerTypes: decodePolicy.workerTypes,
      policy: () => decodePolicy,
      onChange: () => this.#follow(),
    });
  }

  start(): Promise<void> {
    return this.#router.start();
  }

  onState(state: ActorState): void {
    this.#router.onState(state);
  }

  drain(): Promise<void> {
    return this.#router.drain();
  }

  stop(): Promise<void> {
    this.#router.stop();
    return Promise.resolve();
  }

  /** Serves every model that has a worker which generates. */
  #follow(): void {
    const named = new Set<ModelName>();
    for (const model of this.#router.view.models()) {
      named.add(model.model);
      if (canGenerate(model)) this.#router.open(model.model);
      else this.#router.shut(model.model, new ServingError("not_ready", { problem: nobodyText }));
    }
    for (const model of this.#router.models) {
      if (!named.has(model)) this.#router.retire(model);
    }
  }
}

const nobodyText = "no worker that generates is left";

/** A worker that drains takes nothing, but it may be all there is: then requests are refused with the reason. */
function canGenerate({ workers }: ModelView): boolean {
  return workers.some(({ workerType, state }) => workerType !== "prefill" && state !== "lost");
}
