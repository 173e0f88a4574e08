import { type ActorState, RoutePrefill } from "@baton/protocol";
import { Router, type RouterSettings, routerOptions } from "@baton/routing";
import type { ActorContext, ActorDefinition, ActorInstance, HeartbeatFacts } from "@baton/runtime";
import { Activations } from "./activations.ts";
import { prefillPolicy } from "./policy.ts";

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
      policy: prefillPolicy,
    });
    this.#activations = new Activations(ctx, this.#router);
    this.#router.view.onChange(() => this.#activations.follow());
  }

  start(): Promise<void> {
    return this.#router.start();
  }

  onState(state: ActorState): void {
    this.#activations.setAccepting(state === "ready" || state === "degraded");
  }

  heartbeat(): HeartbeatFacts {
    return { activation: this.#activations.states() };
  }

  async drain(): Promise<void> {
    this.#activations.setAccepting(false);
    this.#router.drain();
  }

  async stop(): Promise<void> {
    this.#activations.stop();
    this.#router.stop();
  }
}
