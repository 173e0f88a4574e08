import { type Random, SeededRandom, SystemRandom } from "@baton/runtime";

/** One source of randomness per actor: the system's, or one that repeats from a seed. */
export function randomOf(seed: number | undefined): (id: string) => Random {
  if (seed === undefined) return () => new SystemRandom();
  const root = new SeededRandom(seed);
  return (id) => root.fork(id);
}
