import { type Leg, ServingError } from "@baton/protocol";
import type { ServedModel } from "./model-directory.ts";
import type { RelayState } from "./relay-state.ts";
import type { RouterPicture } from "./router-picture.ts";

/** Why a model takes no requests now; null if it does. */
export function whyNotServed(model: ServedModel): ServingError | null {
  if (model.mode !== null) return null;
  const why = model.why ?? { code: "no_workers", text: "no worker is live" };
  const problem = `the model '${model.name}' is not ready: ${why.text}`;
  return new ServingError("not_ready", { problem, why: why.code });
}

/** Why a request of a model would wait before it is routed; null if it would not. */
export function whyNotRead({ textWhy }: ServedModel): ServingError | null {
  if (textWhy === null) return null;
  return new ServingError("not_ready", { problem: textWhy.text, why: textWhy.code });
}

/** Why nobody would route a request; null if there may be routers. Nobody pays for a prefill whose decode leg no router would take. */
export function whyNotRouted(
  routers: Pick<RouterPicture, "mayHave">,
  model: string,
  isRelay: boolean,
): ServingError | null {
  if (isRelay && !routers.mayHave("prefill-router")) {
    return new ServingError("prefill_activating", {
      problem: "no PrefillRouter lives",
      why: "activating",
    });
  }
  if (routers.mayHave("decode-router")) return null;
  const problem = `the model '${model}' is not ready: no DecodeRouter lives`;
  return new ServingError("not_ready", { problem, why: "activating" });
}

/** The error where no router serves a leg. Right after an outage they may be on their way back: nobody can say that none does. */
export function noRouterError(
  { busBackAtMs, clock, options }: Pick<RelayState, "busBackAtMs" | "clock" | "options">,
  leg: Leg,
): ServingError {
  if (clock.nowMs() - busBackAtMs < options.routerNoticeMs) {
    return new ServingError("bus_unavailable", { problem: "no router is back on the bus yet" });
  }
  if (leg === "prefill") return new ServingError("prefill_activating", { why: "activating" });
  const problem = "no router serves the decode workers of this model";
  return new ServingError("not_ready", { problem, why: "activating" });
}
