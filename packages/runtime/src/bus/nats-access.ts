import type { NatsOptions } from "./nats-bus.ts";
import { readNatsCredentials } from "./nats-credentials.ts";
import { readNatsTls } from "./nats-tls.ts";

/** How a process reaches its NATS server, as its options say it. */
export interface NatsAccess {
  /** One or more URLs, split by commas. */
  readonly nats: string;
  /** A NATS creds file or JSON. */
  readonly natsCreds?: string | undefined;
  /** PEM files: the authorities that are trusted, and the certificate and key to show. */
  readonly natsCa?: string | undefined;
  readonly natsCert?: string | undefined;
  readonly natsKey?: string | undefined;
}

/** Reads the files that the options name. Throws `config_invalid` if one cannot be used. */
export function readNatsAccess(access: NatsAccess): NatsOptions {
  const tls = readNatsTls({ ca: access.natsCa, cert: access.natsCert, key: access.natsKey });
  return {
    url: access.nats,
    ...(access.natsCreds !== undefined && { credentials: readNatsCredentials(access.natsCreds) }),
    ...(tls !== null && { tls }),
  };
}
