import { hashIntegers, hashToUnit } from "./integer-hash.ts";

/** How a mock generation is sampled. */
export interface MockSampling {
  /** 0 or less: always the plan's own words. */
  readonly temperature: number;
  /** Any integer; the same one gives the same text. */
  readonly seed: number;
  /** Which choice of the request, 0…n-1. */
  readonly choice: number;
}

export const greedySampling: MockSampling = { temperature: 0, seed: 0, choice: 0 };

const alternativeShareAt1 = 0.25;
const maxAlternativeShare = 0.9;
const alternativesPerPosition = 1000;

/**
 * The words `from`…`from + count - 1` of a mock output: `<h>-0`, ` <h>-1`, ` <h>-2` …, where `h` names the prompt. Each but the first begins
 * with its space, so that pieces can be tokenized one by one. Above temperature 0 some words, chosen by seed,
 * choice and position, are `<h>~<k>` instead.
 */
export function mockText(
  promptHashHex: string,
  count: number,
  sampling: MockSampling = greedySampling,
  from = 0,
): string[] {
  const pieces: string[] = [];
  for (let position = from; position < from + count; position++) {
    const space = position === 0 ? "" : " ";
    pieces.push(`${space}${promptHashHex}${mockSuffix(position, sampling)}`);
  }
  return pieces;
}

function mockSuffix(position: number, sampling: MockSampling): string {
  const { temperature, seed, choice } = sampling;
  if (!(temperature > 0)) return `-${position}`;
  // Choices of one request part at their first word, whatever the hash says.
  if (position === 0 && choice > 0) return `~${choice}`;
  const share = Math.min(maxAlternativeShare, alternativeShareAt1 * temperature);
  if (hashToUnit(seed, choice, position, 0) >= share) return `-${position}`;
  return `~${hashIntegers(seed, choice, position, 1) % alternativesPerPosition}`;
}
