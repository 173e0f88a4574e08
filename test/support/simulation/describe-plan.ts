import { nameOf } from "./fault-injector.ts";
import type { PlannedRequest, SimulationPlan } from "./plan.ts";
import type { Kept } from "./shrink-plan.ts";

/** A plan for people to read: its cluster, then faults and requests in order of time. */
export function describePlan(plan: SimulationPlan): string[] {
  const actors = plan.actors.map(({ id, startsAtMs }) => `${id}@${Math.round(startsAtMs)}`);
  const { maxDelayMs, minDelayMs, routerMode } = plan.shape;
  const events = [
    ...plan.faults.map((fault) => ({ atMs: fault.atMs, text: describeFault(fault) })),
    ...plan.requests.map((request, index) => ({
      atMs: request.atMs,
      text: `r-${index} ${describeRequest(request)}`,
    })),
  ];
  return [
    `seed ${plan.seed}, ${plan.temper}: ${actors.join(" ")}`,
    `mode ${routerMode}, messages take ${minDelayMs.toFixed(2)} to ${maxDelayMs.toFixed(2)} ms`,
    ...events
      .sort((a, b) => a.atMs - b.atMs)
      .map(({ atMs, text }) => `${atMs.toFixed(3).padStart(10)} ms  ${text}`),
  ];
}

function describeFault(fault: SimulationPlan["faults"][number]): string {
  const whom = "id" in fault ? ` of ${fault.id}` : "";
  const length = "forMs" in fault ? `, for ${fault.forMs.toFixed(3)} ms` : "";
  const isBack = "backAfterMs" in fault && fault.backAfterMs !== null;
  const back = isBack ? `, back after ${fault.backAfterMs?.toFixed(3)} ms` : "";
  const aim = fault.aims === undefined ? "" : `, when a request of it is in ${fault.aims}`;
  return `${nameOf(fault)}${whom}${length}${back}${aim}`;
}

function describeRequest({ frontend, leaves, output, prompt }: PlannedRequest): string {
  const size = prompt.kind === "tokens" ? prompt.tokens.length : prompt.text.length;
  const { maxTokens, n } = output;
  const choices = n === 1 ? "" : ` × ${n}`;
  return `to fe-${frontend + 1}: ${prompt.kind} of ${size} → ${maxTokens}${choices}${describeLeave(leaves)}`;
}

function describeLeave(leaves: PlannedRequest["leaves"]): string {
  switch (leaves?.kind) {
    case undefined:
      return "";
    case "after":
      return `, leaves after ${leaves.ms.toFixed(3)} ms`;
    case "in-state":
      return `, leaves in ${leaves.state}`;
    case "reading":
      return `, is cut after ${leaves.characters} characters`;
  }
}

/** How to run one seed again, or what is left of it. */
export function repeatCommand(seed: number, kept: Kept | null = null): string {
  const command = `npm run simulate -- --from ${seed} --count 1`;
  if (kept === null) return command;
  const list = (indices: readonly number[]) => (indices.length === 0 ? "none" : indices.join(","));
  return `${command} --faults ${list(kept.faults)} --requests ${list(kept.requests)}`;
}
