import { ServingError } from "@baton/protocol";
import { readOptions } from "@baton/runtime";
import { Tail, type TailLine } from "../bus-tools/tail.ts";
import { tailText } from "../bus-tools/tail-text.ts";
import type { CommandIo } from "../command-io.ts";
import { adminUrl, watchOptions } from "../common-options.ts";
import { observeNats } from "../observer.ts";

/** `baton tail`: every message until a signal comes. */
export async function showTail(
  flags: Readonly<Record<string, unknown>>,
  io: CommandIo,
): Promise<number> {
  const options = readOptions(watchOptions, { flags, env: io.env });
  const show = (line: TailLine): void =>
    io.out(`${options.json ? JSON.stringify(line) : tailText(line)}\n`);
  if (options.admin !== undefined) return tailAdmin(options.admin, show, io);
  if (options.nats === undefined) {
    throw new ServingError("config_invalid", {
      problem: "say where to look: --nats URL or --admin URL",
    });
  }
  const { bus, subjects } = await observeNats({ ...options, nats: options.nats }, io);
  const tail = new Tail({ bus, subjects, clock: io.clock }, show);
  await new Promise<void>((resolve) => io.onSignal(() => resolve()));
  tail.stop();
  await bus.close();
  return 0;
}

/** Reads the lines that an admin port streams. */
async function tailAdmin(
  admin: string,
  show: (line: TailLine) => void,
  io: CommandIo,
): Promise<number> {
  const url = adminUrl("/tail", admin);
  const stop = new AbortController();
  io.onSignal(() => stop.abort());
  const answer = await fetch(url, { signal: stop.signal }).catch((cause: unknown) => {
    throw new ServingError(
      "bus_unavailable",
      { problem: `nothing answers at ${url.href}` },
      { cause },
    );
  });
  if (!answer.ok || answer.body === null) {
    throw new ServingError("bus_unavailable", { problem: `${url.href} answered ${answer.status}` });
  }
  let rest = "";
  try {
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) show(JSON.parse(line) as TailLine);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
  return 0;
}
