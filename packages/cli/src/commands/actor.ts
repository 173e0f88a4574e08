import { hostname } from "node:os";
import { type ActorRole, namespaceName } from "@baton/protocol";
import {
  type BusFactory,
  connectNats,
  createLogger,
  createMetricsRegistry,
  type RunningActor,
  readNatsCredentials,
  readOptions,
  startActor,
  startAdminServer,
} from "@baton/runtime";
import type { CommandIo } from "../command-io.ts";
import { actorOptions } from "../common-options.ts";
import { definitions } from "../definitions.ts";
import { randomOf } from "./up.ts";

/** `baton <actor>`: one actor until a signal comes, its parent goes, or it fails. */
export async function runActorCommand(
  role: ActorRole,
  flags: Readonly<Record<string, unknown>>,
  io: CommandIo,
): Promise<number> {
  const common = readOptions(actorOptions, { flags, env: io.env });
  const definition = definitions[role];
  const config = readOptions(definition.options, { flags, env: io.env });
  const registry = createMetricsRegistry({ processLabel: role });
  const admin = await startAdminServer({
    host: common.host,
    port: common.adminPort,
    metrics: () => registry.text(),
  });
  const id = common.id ?? io.random.id(role);
  const actor = startActor(definition, {
    id,
    namespace: namespaceName(common.namespace),
    config,
    connect: natsFactory(common),
    clock: io.clock,
    random: randomOf(common.seed)(id),
    log: createLogger({ level: common.logLevel }),
    metrics: (actorName) => registry.forActor(role, actorName),
    identity: { host: hostname(), pid: process.pid, admin: admin.url },
    drainTimeoutMs: common.drainTimeoutMs,
  });
  admin.add(actor);
  endOnSignal(actor, io);
  if (common.exitWithParent) io.onInputEnd(() => void actor.drain());
  const { failure } = await actor.done;
  await admin.close();
  if (failure !== null) io.err(`baton ${role}: ${failure.message}\n`);
  return failure === null ? 0 : 1;
}

function natsFactory(common: {
  readonly nats: string;
  readonly natsCreds?: string | undefined;
}): BusFactory {
  const nats =
    common.natsCreds === undefined
      ? { url: common.nats }
      : { url: common.nats, credentials: readNatsCredentials(common.natsCreds) };
  return (options, signal) => connectNats(nats, options, signal);
}

const secondSignalCode = 130;

function endOnSignal(actor: RunningActor, io: CommandIo): void {
  let isEnding = false;
  io.onSignal(() => {
    if (isEnding) {
      io.exit(secondSignalCode);
      return;
    }
    isEnding = true;
    void actor.drain();
  });
}
