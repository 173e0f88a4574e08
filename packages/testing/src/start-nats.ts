import {
  hasNatsServer,
  type NatsServer,
  type NatsServerOptions,
  natsInstallCommand,
  startNatsServer,
} from "@baton/runtime";

/** Whether there is a `nats-server` on the PATH. */
export function natsAvailable(): boolean {
  return hasNatsServer();
}

/** The title of a suite that needs a server: says what is missing when it is skipped. */
export function natsSuiteTitle(name: string): string {
  return natsAvailable() ? name : `${name} (skipped: no nats-server; ${natsInstallCommand})`;
}

/** Starts a server that the test may stop, kill and restart. Rejects if it does not listen in ten seconds. */
export function startNats(options: NatsServerOptions = {}): Promise<NatsServer> {
  return startNatsServer(options);
}

/** A server for suites that leave it running: the one of `NATS_URL` if that is set, else one that is started. */
export async function sharedNats(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  // biome-ignore lint/style/noProcessEnv: tests choose their server by the environment
  const url = process.env.NATS_URL;
  return url === undefined ? await startNats() : { url, stop: async () => undefined };
}
