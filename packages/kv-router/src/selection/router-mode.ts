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

/** One of the modes that `createSelector` builds. */
export type BuiltRouterMode = Extract<RouterMode, "round-robin" | "random" | "least-loaded">;

/** The modes that `createSelector` builds. */
export const builtRouterModes: readonly BuiltRouterMode[] = [
  "round-robin",
  "random",
  "least-loaded",
];

/** What a mode's name turned out to be. */
export type ParsedRouterMode =
  | { readonly kind: "built"; readonly mode: BuiltRouterMode }
  | { readonly kind: "refused"; readonly text: string };

/** Reads a mode's name. A known one that is not built and an unknown one are refused with different texts. */
export function parseRouterMode(name: string): ParsedRouterMode {
  const mode = builtRouterModes.find((built) => built === name);
  if (mode !== undefined) return { kind: "built", mode };
  const choice = `choose one of ${builtRouterModes.join(", ")}`;
  return routerModes.some((known) => known === name)
    ? { kind: "refused", text: `router mode "${name}" is not built yet: ${choice}` }
    : { kind: "refused", text: `there is no router mode "${name}": ${choice}` };
}
