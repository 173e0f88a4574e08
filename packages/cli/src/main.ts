import { actorRoles, ServingError } from "@baton/protocol";
import { Command, CommanderError } from "commander";
import { type CommandIo, processIo } from "./command-io.ts";
import { addOptions, givenFlags } from "./command-options.ts";
import { runActorCommand } from "./commands/actor.ts";
import { installEngine } from "./commands/engine.ts";
import { replayOptions, runReplay } from "./commands/replay.ts";
import { explainRoute } from "./commands/route-explain.ts";
import { showStatus } from "./commands/status.ts";
import { showTail } from "./commands/tail.ts";
import { up, upFrontendOptions, upWorkerOptions } from "./commands/up.ts";
import { actorOptions, explainOptions, upOptions, watchOptions } from "./common-options.ts";
import { definitions } from "./definitions.ts";

type Run = (flags: Readonly<Record<string, unknown>>, io: CommandIo) => Promise<number>;

/** Runs the `baton` command. Resolves when it has ended; the process's exit code is set. */
export async function main(args: readonly string[], io: CommandIo = processIo()): Promise<void> {
  const program = createProgram(io);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    io.exit(report(error, io));
  }
}

function createProgram(io: CommandIo): Command {
  const program = new Command("baton")
    .description("Serves large language models with prefill and decode on separate workers.")
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .showHelpAfterError("(try --help)")
    .exitOverride();
  const action = (command: Command, run: Run): Command =>
    command.action(async () => io.exit(await run(givenFlags(command), io)));

  const upCommand = program.command("up").description("Run every actor on this machine.");
  for (const set of [upOptions, upWorkerOptions, upFrontendOptions]) addOptions(upCommand, set);
  action(upCommand.option("--install-engine", "Install the llama engine if it is missing."), up);
  for (const role of actorRoles) {
    const command = program.command(role).description(`Run one ${role}.`);
    addOptions(addOptions(command, definitions[role].options), actorOptions);
    action(command, (flags, commandIo) => runActorCommand(role, flags, commandIo));
  }
  action(
    addOptions(
      program.command("status").description("Show who runs and which models are ready."),
      watchOptions,
    ),
    showStatus,
  );
  action(
    addOptions(program.command("tail").description("Show every message, opened."), watchOptions),
    showTail,
  );
  const route = program.command("route").description("Look into routing.");
  const explain = addOptions(
    route
      .command("explain")
      .argument("[prompt]", "a user's message")
      .description("Show where a request would go, and why. Nothing is sent."),
    explainOptions,
  );
  explain.action(async (prompt: string | undefined) =>
    io.exit(await explainRoute(prompt, givenFlags(explain), io)),
  );
  const replay = program
    .command("replay")
    .argument("<trace>", "a file of requests, gzipped or plain")
    .description("Run a trace against simulated workers in virtual time, and report.");
  addOptions(replay, replayOptions).action(async (trace: string) =>
    io.exit(await runReplay(trace, givenFlags(replay), io)),
  );
  const engine = program.command("engine").description("Manage engines.");
  engine
    .command("install")
    .argument("<name>", "llama")
    .description("Install an engine.")
    .action(async (name: string) => io.exit(await installEngine(name, io)));
  return program;
}

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
