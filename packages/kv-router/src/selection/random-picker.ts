import { noCost, type Picker, randomIndex } from "./picker.ts";

/** Takes any free candidate with the same chance. */
export function createRandomPicker(): Picker {
  return {
    mode: "random",
    usesPreferences: false,
    costs: (_request, candidates) => candidates.map(() => noCost),
    pick: (_request, free, random) => randomIndex(free.length, random),
    taken: () => undefined,
  };
}
