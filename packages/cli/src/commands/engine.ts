import { ServingError } from "@baton/protocol";
import { installLlamaEngine } from "@baton/worker";
import type { CommandIo } from "../command-io.ts";

/** `baton engine install llama`: gets the engine's own packages into their folder. */
export async function installEngine(name: string, io: CommandIo): Promise<number> {
  if (name !== "llama") {
    throw new ServingError("config_invalid", {
      problem: `there is nothing to install for engine ${name}: only llama is installed apart`,
    });
  }
  await installLlamaEngine({ env: io.env }, (line) => io.err(`${line}\n`));
  return 0;
}
