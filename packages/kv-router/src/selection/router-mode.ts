/** Every name that `--router-mode` may have. */
export const routerModes = [
  "round-robin",
  "random",
  "least-loaded",
  "kv",
  "power-of-two",
  "two-tier",
  "direct",
] as const;
/** One of the ways to choose a worker. */
export type RouterMode = (typeof routerModes)[number];

/** What a mode's name turned out to be. */
export type ParsedRouterMode =
  | { readonly kind: "built"; readonly mode: RouterMode }
  | { readonly kind: "refused"; readonly text: string };

/** Reads a mode's name. */
export function parseRouterMode(name: string): ParsedRouterMode {
  const mode = routerModes.find((known) => known === name);
  return mode === undefined
    ? {
        kind: "refused",
        text: `there is no router mode "${name}": choose one of ${routerModes.join(", ")}`,
      }
    : { kind: "built", mode };
}
