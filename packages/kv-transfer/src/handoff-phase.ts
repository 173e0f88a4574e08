/** The life of one staged KV. A ticket is used up when it leaves `staged`. */
export type HandoffPhase = "staged" | "pulling" | "pulled" | "released" | "expired";

/** The moves between phases. */
export const nextHandoffPhases: Readonly<Record<HandoffPhase, readonly HandoffPhase[]>> = {
  staged: ["pulling", "released", "expired"],
  pulling: ["pulled", "released", "expired"], // never back: a broken pull cannot be repeated
  pulled: [],
  released: [],
  expired: [],
};

/** How a staged KV may end. */
export type HandoffEnd = "pulled" | "released" | "expired";
