import type { ValueShape } from "./value-shape.ts";

/**
 * A definition that leads back to itself with nothing written in between: it would have no value of its own, and a grammar of it
 * no beginning. Undefined if there is none.
 */
export function findSelfReference(definitions: readonly ValueShape[]): number | undefined {
  const next = definitions.map(leadsTo);
  const settled = new Set<number>();
  for (const start of definitions.keys()) {
    const found = findLoop(start, next, settled);
    if (found !== undefined) return found;
  }
  return undefined;
}

function leadsTo(shape: ValueShape): readonly number[] {
  if (shape.kind === "ref") return [shape.definition];
  return shape.kind === "choice" ? shape.options.flatMap(leadsTo) : [];
}

/** The first definition that a walk from `start` comes upon again while it is on its way. `settled`: those that lead to no such one. */
function findLoop(
  start: number,
  next: readonly (readonly number[])[],
  settled: Set<number>,
): number | undefined {
  if (settled.has(start)) return undefined;
  const path = [{ at: start, branch: 0 }];
  const onPath = new Set([start]);
  for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
    const to = next[step.at]?.[step.branch];
    step.branch += 1;
    if (to === undefined) {
      settled.add(step.at);
      onPath.delete(step.at);
      path.pop();
    } else if (onPath.has(to)) {
      return to;
    } else if (!settled.has(to)) {
      onPath.add(to);
      path.push({ at: to, branch: 0 });
    }
  }
  return undefined;
}
