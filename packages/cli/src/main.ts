import { actorRoles, ServingError } from "@baton/protocol";
import { Command, CommanderError } from "commander";
import { type CommandIo, processIo } from "./command-io.ts";
import { addOptions, givenFlags } from "./command-options.ts";
import { actorOptions, explainOptions, upOptions, watchOptions } from "./common-options.ts";
import { loadDefinition } from "./definitions.ts";

type Run = (flags: Readonly<Record<string, unknown>>, io: CommandIo) => Promise<number>;

/** A command's name for `--help`, and what gives it options and an action, loaded if it is the one that is named, or if none is. */
interface CommandEntry {
  readonly name: string;
  readonly description: string;
  build(command: Command, io: CommandIo): Promise<unknown>;
}

/** Runs the `baton` command. Resolves when it has ended; the process's exit code is set. */
export async function main(args: readonly string[], io: CommandIo = processIo()): Promise<void> {
  try {
    const program = await createProgram(args, io);
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    io.exit(report(error, io));
  }
}

async function createProgram(args: readonly string[], io: CommandIo): Promise<Command> {
  const program = new Command("baton")
    .description("Serves large language models with prefill and decode on separate workers.")
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .showHelpAfterError("(try --help)")
    .exitOverride();
  const named = args.find((word) => !word.startsWith("-") && word !== "help");
  for (const { name, description, build } of entries) {
    const command = program.command(name).description(description);
    if (named === undefined || name === named) await build(command, io);
  }
  return program;
}

function action(command: Command, io: CommandIo, run: Run): void {
  command.action(async () => io.exit(await run(givenFlags(command), io)));
}

const actorEntries = actorRoles.map(
  (role): CommandEntry => ({
    name: role,
    description: `Run one ${role}.`,
    build: async (command, io) => {
      const { runActorCommand } = await import("./commands/actor.ts");
      const { options } = await loadDefinition(role);
      addOptions(addOptions(command, options), actorOptions);
      action(command, io, (flags, commandIo) => runActorCommand(role, flags, commandIo));
    },
  }),
);

const entries: readonly CommandEntry[] = [
  {
    name: "up",
    description: "Run every actor on this machine.",
    build: async (command, io) => {
      const { up, upFrontendOptions, upWorkerOptions } = await import("./commands/up.ts");
      for (const set of [upOptions, upWorkerOptions, upFrontendOptions]) addOptions(command, set);
      command.option("--install-engine", "Install the llama engine if it is missing.");
      action(command, io, up);
    },
  },
  ...actorEntries,
  {
    name: "status",
    description: "Show who runs and which models are ready.",
    build: async (command, io) => {
      const { showStatus } = await import("./commands/status.ts");
      action(addOptions(command, watchOptions), io, showStatus);
    },
  },
  {
    name: "tail",
    description: "Show every message, opened.",
    build: async (command, io) => {
      const { showTail } = await import("./commands/tail.ts");
      action(addOptions(command, watchOptions), io, showTail);
    },
  },
  {
    name: "route",
    description: "Look into routing.",
    build: async (command, io) => {
      const { explainRoute } = await import("./commands/route-explain.ts");
      const explain = command
        .command("explain")
        .argument("[prompt]", "a user's message")
        .description("Show where a request would go, and why. Nothing is sent.");
      addOptions(explain, explainOptions).action(async (prompt: string | undefined) =>
        io.exit(await explainRoute(prompt, givenFlags(explain), io)),
      );
    },
  },
  {
    name: "replay",
    description: "Run a trace against simulated workers in virtual time, and report.",
    build: async (command, io) => {
      const { replayOptions, runReplay } = await import("./commands/replay.ts");
      command.argument("<trace>", "a file of requests, gzipped or plain");
      addOptions(command, replayOptions).action(async (trace: string) =>
        io.exit(await runReplay(trace, givenFlags(command), io)),
      );
    },
  },
  {
    name: "engine",
    description: "Manage engines.",
    build: async (command, io) => {
      const { installEngine } = await import("./commands/engine.ts");
      command
        .command("install")
        .argument("<name>", "llama")
        .description("Install an engine.")
        .action(async (name: string) => io.exit(await installEngine(name, io)));
    },
  },
];

/** Exit code when the command line itself is what is wrong. */
const badOptionsCode = 2;

/** Says what went wrong and returns the exit code. */
function report(error: unknown, io: CommandIo): number {
  // Commander has said it already, or it was --help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : badOptionsCode;
  const { code, details, message } = ServingError.from(error);
  // Several wrong options or keys: one line each.
  const text = Array.isArray(details.options) ? details.options.join("\nbaton: ") : message;
  io.err(`baton: ${text}${code === "internal" || code === "config_invalid" ? "" : ` (${code})`}\n`);
  return code === "config_invalid" ? badOptionsCode : 1;
}
