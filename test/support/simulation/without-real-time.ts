import { createRequire, syncBuiltinESMExports } from "node:module";

type Holder = Record<string, unknown>;

/** What of the machine's time and randomness was used, by name, with the line that used it. */
export interface RealTimeReport<T> {
  readonly result: T;
  readonly used: readonly string[];
}

/**
 * What libraries read for records of their own that nobody decides by: the time of a log line, and xstate's note of when
 * a delay was set.
 */
const harmless = [
  /Date\.now .*node_modules\/pino\//,
  /Date\.now .*schedule .*node_modules\/xstate\//,
];

/**
 * Runs something with every source of real time and randomness watched. The virtual clock gives the event loop a turn now
 * and then (`setImmediate`); that waits for nothing, and is not counted.
 */
export async function withoutRealTime<T>(run: () => Promise<T>): Promise<RealTimeReport<T>> {
  const used = new Set<string>();
  const require = createRequire(import.meta.url);
  const holders: readonly (readonly [name: string, holder: Holder, keys: readonly string[]])[] = [
    ["globalThis", globalThis as unknown as Holder, ["setTimeout", "setInterval"]],
    ["Date", Date as unknown as Holder, ["now"]],
    ["Math", Math as unknown as Holder, ["random"]],
    ["performance", performance as unknown as Holder, ["now"]],
    ["process", process as unknown as Holder, ["hrtime"]],
    ["crypto", globalThis.crypto as unknown as Holder, ["getRandomValues", "randomUUID"]],
    [
      "node:crypto",
      require("node:crypto") as Holder,
      ["randomBytes", "randomUUID", "randomFillSync", "randomInt"],
    ],
    ["node:timers", require("node:timers") as Holder, ["setTimeout", "setInterval"]],
  ];
  const restores: (() => void)[] = [];
  for (const [name, holder, keys] of holders) {
    for (const key of keys) restores.push(watch(name, holder, key, used));
  }
  syncBuiltinESMExports();
  try {
    const result = await run();
    return { result, used: [...used].filter((use) => !harmless.some((rule) => rule.test(use))) };
  } finally {
    for (const restore of restores) restore();
    syncBuiltinESMExports();
  }
}

function watch(name: string, holder: Holder, key: string, used: Set<string>): () => void {
  const own = Object.getOwnPropertyDescriptor(holder, key);
  const original = holder[key];
  if (typeof original !== "function") return () => undefined;
  Object.defineProperty(holder, key, {
    configurable: true,
    writable: true,
    value(this: unknown, ...args: unknown[]) {
      const stack = new Error().stack?.split("\n").slice(2, 5) ?? [];
      const caller = stack.find((line) => /packages|node_modules|test/.test(line)) ?? "";
      if (isOurs(stack)) used.add(`${name}.${key} ${caller.trim()}`);
      return Reflect.apply(original, this, args);
    },
  });
  return () => {
    if (own === undefined) Reflect.deleteProperty(holder, key);
    else Object.defineProperty(holder, key, own);
  };
}

/** The test runner keeps its own time beside us. */
function isOurs(stack: readonly string[]): boolean {
  return !stack.some((line) => /vitest|tinypool|tinyspy/.test(line));
}
