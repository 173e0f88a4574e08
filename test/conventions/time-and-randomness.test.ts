import { describe, expect, it } from "vitest";
import { sourceFiles } from "./source-files.ts";

/** What an actor is given instead of taking it. A name after a dot is somebody's method, not the global. */
const globals: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["Math.random", /\bMath\s*\.\s*random\b/],
  ["Date", /(?<![.\w$"])Date\b(?!\s*:)/],
  ["performance", /(?<![.\w$])performance\s*\./],
  ["timers", /(?<![.\w$])(?:globalThis\.)?(?:setTimeout|setInterval|setImmediate)\s*\(/],
  [
    "crypto randomness",
    /\b(?:randomBytes|randomUUID|randomFill(?:Sync)?|randomInt|getRandomValues|webcrypto)\b/,
  ],
  ["process.hrtime", /\bhrtime\b/],
];

const timersModule = /"(?:node:)?timers(?:\/promises)?"/;

/** Files that may, and why. */
const exempt: Readonly<Record<string, string>> = {
  "packages/runtime/src/real-clock.ts": "is the machine's time",
  "packages/runtime/src/system-random.ts": "is the machine's randomness",
  "packages/runtime/src/xstate-clock.ts": "names its methods as xstate wants them; calls no timer",
};

describe("time and randomness", () => {
  const files = sourceFiles();

  it("are taken from Clock and Random, never from globals", () => {
    const found = files
      .filter(({ path }) => !(path in exempt))
      .flatMap(({ code, path, text }) =>
        globals
          .filter(([, pattern]) => pattern.test(code))
          .map(([name]) => `${path}: ${name}`)
          .concat(timersModule.test(text) ? [`${path}: node:timers`] : []),
      );

    expect(found).toEqual([]);
  });

  it("are exempt only where a global is used", () => {
    const idle = Object.keys(exempt).filter((path) => {
      const code = files.find((file) => file.path === path)?.code ?? "";
      return !/setTimeout|randomBytes/.test(code);
    });

    expect(idle).toEqual([]);
  });
});
