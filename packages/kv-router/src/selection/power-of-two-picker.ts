import type { Picker } from "./selection-policy.ts";

/**
 * Draws two different candidates and takes the cheaper, the first of equals. One random number makes both draws: its whole
 * part, times their number, is the first, and what is left of it the second.
 */
export const powerOfTwoPicker: Picker = {
  pick: ({ eligible }, costs, random) => {
    const count = eligible.length;
    if (count === 1) return 0;
    const place = random * count;
    const first = Math.min(count - 1, Math.floor(place));
    const rest = Math.min(count - 2, Math.floor((place - first) * (count - 1)));
    const second = rest < first ? rest : rest + 1;
    return costs[second]! < costs[first]! ? second : first;
  },
};
