/** A whole number in 0…count-1 from a random number in [0, 1). */
export function randomIndex(count: number, random: number): number {
  return Math.min(count - 1, Math.floor(random * count));
}
