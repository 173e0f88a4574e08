import { fuzzTexts, seededNumbers } from "./fuzz-text.ts";
import { makeProse } from "./make-prose.ts";

/**
 * Prompts of which many begin alike: each goes on from an earlier one cut anywhere, in the middle of words, surrogate
 * pairs and special tokens too.
 */
export function chainedPrompts(count: number, seed: number, maxLength = 6000): string[] {
  const next = seededNumbers(seed);
  const pieces = [
    ...fuzzTexts(60, seed),
    ...fuzzTexts(30, seed + 1).map((text) => `${text} `),
    makeProse("words", 700, seed),
    makeProse("code", 700, seed),
    makeProse("han", 300, seed),
    "Hello world, Hello. ",
    "a".repeat(200),
    " ".repeat(150),
  ];
  const prompts: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const before = prompts[next() % Math.max(prompts.length, 1)] ?? "";
    let prompt = next() % 8 === 0 ? "" : before.slice(0, next() % (before.length + 1));
    for (let parts = 1 + (next() % 4); parts > 0; parts -= 1) {
      prompt += pieces[next() % pieces.length] ?? "";
    }
    prompts.push(prompt.slice(-maxLength));
  }
  return prompts;
}
