import type { OptionField, OptionSet } from "@baton/runtime";
import { type Command, Option } from "commander";

/** Adds every option of a set to a command. Defaults stay with the set, so that the environment can come in between. */
export function addOptions(command: Command, set: OptionSet<unknown>): Command {
  for (const field of set.fields) {
    if (command.options.some((option) => option.long === `--${field.flag}`)) continue;
    command.addOption(commanderOption(field));
  }
  return command;
}

/** The values that were given on the command line, by flag name. */
export function givenFlags(command: Command): Readonly<Record<string, unknown>> {
  const flags: Record<string, unknown> = {};
  for (const option of command.options) {
    const key = option.attributeName();
    if (command.getOptionValueSource(key) !== "cli") continue;
    flags[(option.long ?? "").slice(2)] = command.getOptionValue(key);
  }
  return flags;
}

function commanderOption(field: OptionField): Option {
  const option = new Option(syntax(field), description(field));
  if (field.kind !== "list") return option;
  return option.argParser((value: string, earlier: readonly string[] | undefined) => [
    ...(earlier ?? []),
    value,
  ]);
}

function syntax({ defaultText, flag, kind }: OptionField): string {
  // What is not off by itself must be possible to switch off.
  if (kind === "boolean") return `--${flag}${defaultText === "false" ? "" : " [true|false]"}`;
  return `--${flag} <${kind === "number" ? "n" : "value"}>`;
}

function description({ description: text, choices, defaultText, env }: OptionField): string {
  const facts = [
    ...(choices === null ? [] : [choices.join(" | ")]),
    ...(defaultText === null || defaultText === "false" ? [] : [`default ${defaultText}`]),
    env,
  ];
  return `${text} (${facts.join("; ")})`;
}
