import { activationTarget, gatherWorkerSets } from "@baton/kv-router";
import {
  type ActivationState,
  type ModelName,
  type RoutePrefill,
  ServingError,
} from "@baton/protocol";
import type { Router } from "@baton/routing";
import { type ActorContext, xstateClock } from "@baton/runtime";
import { type ActorRefFrom, createActor } from "xstate";
import { type ActivationActions, activationMachine, reportedActivation } from "./activation.ts";

type ActivationActor = ActorRefFrom<typeof activationMachine>;

/** What the machines do to the desks. */
export type RouteDesks = Pick<Router<RoutePrefill>, "view" | "listen" | "open" | "shut" | "retire">;

/** One activation machine per model that the catalog names. */
export class Activations {
  readonly #ctx: ActorContext;
  readonly #desks: RouteDesks;
  readonly #actors = new Map<ModelName, ActivationActor>();

  constructor(ctx: ActorContext, desks: RouteDesks) {
    this.#ctx = ctx;
    this.#desks = desks;
  }

  /** Tells each model's machine what its sets come to. */
  follow(): void {
    const named = new Set<ModelName>();
    for (const { model, workers } of this.#desks.view.models()) {
      named.add(model);
      const sets = gatherWorkerSets(
        workers.map(({ registration, state }) => ({ registration, state, conflicts: [] })),
      );
      const target = activationTarget(sets);
      this.#actorOf(model).send(
        target.kind === "target"
          ? { type: "target.found", target: target.key }
          : { type: "target.gone" },
      );
    }
    for (const [model, actor] of this.#actors) {
      if (!named.has(model)) this.#end(model, actor);
    }
  }

  /** Each model's state, for heartbeats. */
  states(): readonly { readonly model: ModelName; readonly state: ActivationState }[] {
    return [...this.#actors].map(([model, actor]) => ({
      model,
      state: reportedActivation(actor.getSnapshot().value),
    }));
  }

  stop(): void {
    for (const actor of this.#actors.values()) actor.stop();
    this.#actors.clear();
  }

  #end(model: ModelName, actor: ActivationActor): void {
    actor.stop();
    this.#actors.delete(model);
    this.#desks.retire(model);
  }

  #actorOf(model: ModelName): ActivationActor {
    const known = this.#actors.get(model);
    if (known !== undefined) return known;
    const actor = createActor(activationMachine, {
      input: this.#actionsFor(model),
      clock: xstateClock(this.#ctx.clock),
    });
    this.#actors.set(model, actor);
    actor.start();
    return actor;
  }

  #actionsFor(model: ModelName): ActivationActions {
    const { log } = this.#ctx;
    return {
      bind: (target) => void this.#bind(model, target),
      open: () => {
        log.info({ model }, "prefill route active");
        this.#attempt(model, () => this.#desks.open(model));
      },
      shut: (target) => {
        log.info({ model }, "prefill route closed");
        const code = target === null ? "not_ready" : "prefill_activating";
        const problem = "the prefill workers went away while the request waited";
        this.#attempt(model, () => this.#desks.shut(model, new ServingError(code, { problem })));
      },
    };
  }

  /** The binding stands once the server has confirmed that the desk hears bookings and cancels. */
  async #bind(model: ModelName, target: string): Promise<void> {
    const actor = this.#actors.get(model);
    try {
      this.#desks.listen(model);
      await this.#ctx.bus.flush();
      actor?.send({ type: "binding.ready", target });
    } catch (error) {
      this.#ctx.log.warn({ model, err: error }, "prefill route not bound");
      actor?.send({ type: "binding.failed", target });
    }
  }

  /** A machine that hears an exception is dead; a bus that is closed for good ends the whole actor anyway. */
  #attempt(model: ModelName, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#ctx.log.error({ model, err: error }, "prefill route not changed");
    }
  }
}
