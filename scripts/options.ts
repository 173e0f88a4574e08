import { type ParseArgsConfig, parseArgs } from "node:util";

/** Reads a script's options. `--help` shows `usage` and the options with their defaults; what is unknown ends the process with a sentence. */
export function scriptOptions<T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.includes("--help")) {
    const options = Object.entries(config.options ?? {});
    const rows = options.map(([name, { default: value, type }]) => {
      const shown = type === "boolean" ? `--${name}` : `--${name} ${name.toUpperCase()}`;
      return value === undefined || value === false ? `  ${shown}` : `  ${shown} (${value})`;
    });
    console.log([usage, ...rows].join("\n"));
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return refuseOptions(error instanceof Error ? error.message : String(error));
  }
}

/** The value of an option that counts, from 0 on. */
export function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (text !== "" && Number.isSafeInteger(number) && number >= 0) return number;
  return refuseOptions(`${option}: ${JSON.stringify(text)} is not a whole number`);
}

/** Ends the process, for its options cannot be used. */
export function refuseOptions(problem: string): never {
  console.error(problem);
  process.exit(2);
}
