import { type ActorId, ServingError } from "@baton/protocol";
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  ErrorCode,
  type NatsConnection,
  NatsError,
  type TlsOptions,
  usernamePasswordAuthenticator,
} from "nats";
import { BaseBus, type BusOptions } from "./base-bus.ts";
import type { Bus } from "./bus.ts";
import { NatsLink } from "./nats-link.ts";
import { addressCheck } from "./nats-tls.ts";

/** Where the server is and how to log in. */
export interface NatsOptions {
  /** One or more URLs, split by commas: `nats://HOST:PORT`, `tls://HOST:PORT`, either with `USER:PASSWORD@`. */
  readonly url: string;
  /** From `readNatsCredentials`; without it the URL's user and password, if there are any. */
  readonly credentials?: Authenticator;
  /** From `readNatsTls`: the connection is encrypted, whatever the URL says. */
  readonly tls?: TlsOptions;
}

const reconnectWaitMs = 50;
const firstConnectWaitMs = 100;
const connectTimeoutMs = 2_000;
/** Two unanswered pings end a connection: a server that hangs is noticed in at most three intervals. */
const pingIntervalMs = 1_000;
const maxPingsOut = 2;

/**
 * Connects a bus to NATS. Waits for a server that is not there yet until `signal` is aborted. Rejects with
 * `bus_unavailable` when the server refuses the credentials, when its certificate is not trusted, or when the signal
 * is aborted.
 */
export async function connectNats(
  nats: NatsOptions,
  options: BusOptions,
  signal?: AbortSignal,
): Promise<Bus> {
  const connection = await dial(connectionOptions(nats, options.id), options, signal);
  // The client id is the server's own and the nonce of the start keeps restarted servers apart.
  const bus = new BaseBus(options, connectionName(options, connection));
  bus.attach(new NatsLink(connection, bus, options));
  return bus;
}

function connectionName(options: BusOptions, connection: NatsConnection): string {
  const info = connection.info;
  const startedAt = Math.floor(options.clock.nowMs()).toString(36);
  return `${options.id}-${startedAt}-${info?.client_id ?? 0}`;
}

function connectionOptions(nats: NatsOptions, id: ActorId): ConnectionOptions {
  const urls = nats.url.split(",").map(parseUrl);
  const withUser = urls.find((url) => url.username !== "");
  const authenticator =
    nats.credentials ??
    (withUser === undefined
      ? null
      : usernamePasswordAuthenticator(
          decodeURIComponent(withUser.username),
          decodeURIComponent(withUser.password),
        ));
  return {
    servers: urls.map((url) => url.host),
    name: id,
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectWaitMs,
    reconnectJitter: 0,
    reconnectJitterTLS: 0,
    ignoreAuthErrorAbort: true,
    timeout: connectTimeoutMs,
    pingInterval: pingIntervalMs,
    maxPingOut: maxPingsOut,
    noEcho: false,
    noAsyncTraces: true,
    noRandomize: true,
    ...(authenticator === null ? {} : { authenticator }),
    ...(nats.tls !== undefined || urls.some((url) => url.protocol === "tls:")
      ? { tls: { ...nats.tls, ...addressCheck(urls) } }
      : {}),
  };
}

/** Checks a NATS URL. Throws `config_invalid`. */
function parseUrl(text: string): URL {
  const trimmed = text.trim();
  const withScheme = trimmed.includes("://") ? trimmed : `nats://${trimmed}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : null;
  if (url === null || !["nats:", "tls:"].includes(url.protocol) || url.hostname === "") {
    throw new ServingError("config_invalid", {
      problem: `--nats: must be nats://HOST:PORT or tls://HOST:PORT, not "${withoutSecret(trimmed)}"`,
    });
  }
  if (url.port === "") url.port = "4222";
  return url;
}

function withoutSecret(text: string): string {
  return text.replace(/\/\/[^@/]*@/, "//…@");
}

async function dial(
  options: ConnectionOptions,
  bus: BusOptions,
  signal: AbortSignal | undefined,
): Promise<NatsConnection> {
  let hasWarned = false;
  for (;;) {
    if (signal?.aborted === true) {
      const problem = `no NATS server answers at ${String(options.servers)}`;
      throw new ServingError("bus_unavailable", { problem });
    }
    try {
      return await connect(options);
    } catch (error) {
      if (error instanceof NatsError && isRefusal(error)) {
        throw new ServingError(
          "bus_unavailable",
          { problem: `the NATS server refuses the credentials: ${error.message}` },
          { cause: error },
        );
      }
      if (isDistrust(error)) {
        throw new ServingError(
          "bus_unavailable",
          { problem: `the NATS server's certificate is not trusted: ${messageOf(error)}` },
          { cause: error },
        );
      }
      if (!hasWarned) bus.log.warn({ servers: options.servers, err: error }, "waiting for nats");
      hasWarned = true;
      await bus.clock.sleep(firstConnectWaitMs);
    }
  }
}

function isRefusal(error: NatsError): boolean {
  const codes: readonly string[] = [
    ErrorCode.AuthorizationViolation,
    ErrorCode.AuthenticationExpired,
    ErrorCode.BadAuthentication,
    ErrorCode.BadCreds,
  ];
  return codes.includes(error.code);
}

/** Codes with which a TLS client turns down a server's certificate. */
const distrustCodes = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_SIGNATURE_FAILURE",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

function isDistrust(error: unknown): boolean {
  return error instanceof Error && "code" in error && distrustCodes.has(String(error.code));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
