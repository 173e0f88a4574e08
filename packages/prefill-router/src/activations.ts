import { activationTarget, gatherWorkerSets } from "@baton/kv-router";
import {
  type ActivationState,
  type ModelName,
  modelName,
  type RoutePrefill,
  ServingError,
} from "@baton/protocol";
import type { Router } from "@baton/routing";
import { type ActorContext, xstateClock } from "@baton/runtime";
import { type ActorRefFrom, createActor } from "xstate";
import { activationMachine } from "./activation.ts";

type ActivationActor = ActorRefFrom<ReturnType<typeof activationMachine>>;

/** One activation machine per model that the catalog names. */
export class Activations {
  readonly #ctx: ActorContext;
  readonly #router: Router<RoutePrefill>;
  readonly #actors = new Map<ModelName, ActivationActor>();
  #accepting = false;

  constructor(ctx: ActorContext, router: Router<RoutePrefill>) {
    this.#ctx = ctx;
    this.#router = router;
  }

  /** While not accepting no queue group is joined: the actor is not ready, or drains. */
  setAccepting(accepting: boolean): void {
    if (this.#accepting === accepting) return;
    this.#accepting = accepting;
    this.follow();
  }

  /** Compares every model's sets with what its machine aims at. */
  follow(): void {
    const named = new Set<ModelName>();
    for (const view of this.#router.view.models()) {
      const model = modelName(view.model);
      named.add(model);
      const target = this.#accepting
        ? activationTarget(
            gatherWorkerSets(view.workers.map((worker) => ({ ...worker, conflicts: [] }))),
          )
        : null;
      const actor = this.#actorOf(model);
      if (target?.kind === "target") actor.send({ type: "target.found", target: target.key });
      else actor.send({ type: "target.gone" });
    }
    for (const [model, actor] of this.#actors) {
      if (!named.has(model)) this.#end(model, actor);
    }
  }

  /** Each model's state, for heartbeats. */
  states(): Readonly<Record<string, ActivationState>> {
    const states: Record<string, ActivationState> = {};
    for (const [model, actor] of this.#actors) {
      const { value } = actor.getSnapshot();
      states[model] = value === "resting" ? "pending" : value;
    }
    return states;
  }

  stop(): void {
    for (const [model, actor] of this.#actors) this.#end(model, actor);
  }

  #end(model: ModelName, actor: ActivationActor): void {
    actor.stop();
    this.#actors.delete(model);
    this.#router.forget(model);
  }

  #actorOf(model: ModelName): ActivationActor {
    const known = this.#actors.get(model);
    if (known !== undefined) return known;
    const host = this.#router.host(model);
    const { log } = this.#ctx;
    const machine = activationMachine({
      bind: (target) => this.#bind(model, target),
      serve: () => {
        host.serve();
        log.info({ model }, "prefill route active");
      },
      hold: () => {
        host.hold(new ServingError("not_ready", { problem: "the prefill route was closed" }));
        log.info({ model }, "prefill route closed");
      },
    });
    const actor = createActor(machine, { clock: xstateClock(this.#ctx.clock) });
    this.#actors.set(model, actor);
    actor.start();
    return actor;
  }

  /** The binding stands once the server has confirmed that the desk hears bookings and cancels. */
  #bind(model: ModelName, target: string): void {
    this.#ctx.bus.flush().then(
      () => this.#actors.get(model)?.send({ type: "binding.ready", target }),
      (error: unknown) => {
        this.#ctx.log.warn({ model, err: error }, "prefill route not bound");
        this.#actors.get(model)?.send({ type: "binding.failed" });
      },
    );
  }
}
