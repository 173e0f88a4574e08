import type { OptionSet } from "@baton/runtime";

/** A value as an actor's command takes it. */
export type PassedValue = string | readonly string[];

/** The options of an actor that `baton up` takes itself and passes on, under `BATON_…` as its own are. */
export function passedOptions(
  options: OptionSet<unknown>,
  isPassed: (key: string) => boolean,
): OptionSet<unknown> {
  return {
    name: "",
    schema: options.schema,
    fields: options.fields
      .filter(({ key }) => isPassed(key))
      .map((field) => ({
        ...field,
        env: `BATON_${field.flag.replaceAll("-", "_").toUpperCase()}`,
      })),
  };
}

/** What was given of such options, by flag: the flag before the variable. */
export function passedFlags(
  { fields }: OptionSet<unknown>,
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, PassedValue>> {
  const given: Record<string, PassedValue> = {};
  for (const { flag, env: variable, kind } of fields) {
    const value = flags[flag] ?? env[variable];
    if (value === undefined || value === "") continue;
    given[flag] = kind === "list" ? listOf(value) : String(value);
  }
  return given;
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : String(value).split(",");
}
