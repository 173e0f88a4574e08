import type { ActorRole } from "@baton/protocol";
import { readBothOptions, runActorProcess } from "@baton/runtime";
import type { CommandIo } from "../command-io.ts";
import { actorOptions } from "../common-options.ts";
import { compileEarly } from "../compile-early.ts";
import { loadDefinition } from "../definitions.ts";
import { randomOf } from "../random-of.ts";

/** `baton <actor>`: one actor until a signal comes, its parent goes, or it fails. */
export async function runActorCommand(
  role: ActorRole,
  flags: Readonly<Record<string, unknown>>,
  io: CommandIo,
): Promise<number> {
  const definition = await loadDefinition(role);
  const [common, config] = readBothOptions(actorOptions, definition.options, {
    flags,
    env: io.env,
  });
  const id = common.id ?? io.random.id(role);
  return runActorProcess({
    definition,
    config,
    common: { ...common, id },
    clock: io.clock,
    random: randomOf(common.seed)(id),
    // What only starts an actor is not worth compiling.
    onStarted: () => compileEarly(),
    onFailed: ({ message }) => io.err(`baton ${role}: ${message}\n`),
  });
}
