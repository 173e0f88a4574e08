import type { SimulationPlan } from "./plan.ts";
import type { SimClient } from "./sim-client.ts";

const codesOfFewBlocks = ["context_length_exceeded", "deadline_exceeded", "overloaded"];

/** Whether it fails so for want of room: a worker with few blocks has none for long requests, or not in time. */
export function mayFailInCalm({ shape }: Pick<SimulationPlan, "shape">, code: string): boolean {
  return shape.blocks < 64 && codesOfFewBlocks.includes(code);
}

/** How a request ended, for those who read. */
export function describeEnd(end: SimClient["end"]): string {
  if (end === null) return "it has no end";
  if (end.kind !== "failed") return end.kind;
  return `${end.stage} ${end.error.code} ${end.error.message}`;
}
