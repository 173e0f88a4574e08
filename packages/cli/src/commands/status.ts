import { ServingError } from "@baton/protocol";
import { readOptions } from "@baton/runtime";
import { type ClusterStatus, readStatus } from "../bus-tools/status.ts";
import { statusText } from "../bus-tools/status-text.ts";
import type { CommandIo } from "../command-io.ts";
import { adminUrl, watchOptions } from "../common-options.ts";
import { observeNats, type WhereToLook } from "../observer.ts";

/** `baton status`: who runs, and which models are ready. */
export async function showStatus(
  flags: Readonly<Record<string, unknown>>,
  io: CommandIo,
): Promise<number> {
  const options = readOptions(watchOptions, { flags, env: io.env });
  const status = await (options.admin === undefined
    ? statusFromBus(options, io)
    : statusFromAdmin(options.admin));
  io.out(options.json ? `${JSON.stringify(status)}\n` : statusText(status));
  return 0;
}

async function statusFromBus(options: WhereToLook, io: CommandIo): Promise<ClusterStatus> {
  if (options.nats === undefined) {
    throw new ServingError("config_invalid", {
      problem: "say where to look: --nats URL or --admin URL",
    });
  }
  const { bus, subjects } = await observeNats({ ...options, nats: options.nats }, io);
  try {
    return await readStatus({ bus, subjects, clock: io.clock });
  } finally {
    await bus.close();
  }
}

/** What the admin port of `baton up` says of everybody. One actor's own port knows only itself. */
export async function statusFromAdmin(admin: string): Promise<ClusterStatus> {
  const url = adminUrl("/status", admin);
  const answer = await fetch(url).catch((cause: unknown) => {
    throw new ServingError(
      "bus_unavailable",
      { problem: `nothing answers at ${url.href}` },
      { cause },
    );
  });
  if (!answer.ok) {
    throw new ServingError("bus_unavailable", { problem: `${url.href} answered ${answer.status}` });
  }
  const status = (await answer.json().catch(() => null)) as Partial<ClusterStatus> | null;
  if (Array.isArray(status?.models)) return status as ClusterStatus;
  const problem = `${url.href} is not of a whole deployment: name the admin port of baton up, or use --nats URL`;
  throw new ServingError("config_invalid", { problem });
}
