import { type ActorState, RoutePrefill } from "@baton/protocol";
import { Router, type RouterSettings, routerOptions } from "@baton/routing";
import type { ActorContext, ActorDefinition, ActorInstance, HeartbeatFacts } from "@baton/runtime";
import { Activations } from "./activations.ts";
import { PrefillPolicy, prefillWorkers } from "./policy.ts";

/** The PrefillRouter: whether a model's prefill route stands, and which worker computes a prompt. */
export const prefillRouter: ActorDefinition<RouterSettings> = {
  role: "prefill-router",
  options: routerOptions("prefill-router"),
  create: (ctx, settings) => new PrefillRouterActor(ctx, settings),
};

class PrefillRouterActor implements ActorInstance {
  readonly #router: Router<RoutePrefill>;
  readonly #activations: Activations;

  constructor(ctx: ActorContext, settings: RouterSettings) {
    this.#router = new Router(ctx, settings, {
      message: RoutePrefill,
      workerRole: "prefill",
      workerTypes: prefillWorkers,
      policy: () => new PrefillPolicy(),
      onChange: () => this.#activations.follow(),
    });
    this.#activations = new Activations(ctx, this.#router);
  }

  start(): Promise<void> {
    return this.#router.start();
  }

  onState(state: ActorState): void {
    this.#router.onState(state);
  }

  heartbeat(): HeartbeatFacts {
    return { activation: this.#activations.states() };
  }

  drain(): Promise<void> {
    return this.#router.drain();
  }

  stop(): Promise<void> {
    this.#activations.stop();
    this.#router.stop();
    return Promise.resolve();
  }
}
