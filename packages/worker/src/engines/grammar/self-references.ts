import type { ValueShape } from "./value-shape.ts";

/**
 * A definition that leads back to itself with nothing written in between: it would have no value of its own, and a grammar of it
 * no beginning. Undefined if there is none.
 */
export function findSelfReference(definitions: readonly ValueShape[]): number | undefined {
  const next = definitions.map(leadsTo);
  return [...definitions.keys()].find((start) => leadsBack(start, next));
}

function leadsTo(shape: ValueShape): readonly number[] {
  if (shape.kind === "ref") return [shape.definition];
  return shape.kind === "choice" ? shape.options.flatMap(leadsTo) : [];
}

function leadsBack(start: number, next: readonly (readonly number[])[]): boolean {
  const seen = new Set<number>();
  const open = [...(next[start] ?? [])];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === start) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    open.push(...(next[at] ?? []));
  }
  return false;
}
