import { randomIndex } from "./random-index.ts";
import type { Picker } from "./selection-policy.ts";

/** Takes any eligible candidate with the same chance. */
export const randomPicker: Picker = {
  pick: ({ eligible }, _costs, random) => randomIndex(eligible.length, random),
};
