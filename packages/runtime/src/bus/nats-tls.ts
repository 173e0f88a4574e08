import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { ServingError } from "@baton/protocol";
import type { TlsOptions } from "nats";

/** Files in PEM for a connection over TLS. */
export interface NatsTlsFiles {
  /** Certificates of the authorities that the server's is trusted by, in place of the system's. */
  readonly ca?: string | undefined;
  /** The certificate that the client shows, and its key: both or neither. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/**
 * Checks the files and gives the client's options; null if there are none. The files are read again at each connection, so
 * that renewed certificates take effect. Throws `config_invalid` without showing what a file holds.
 */
export function readNatsTls({ ca, cert, key }: NatsTlsFiles): TlsOptions | null {
  if (ca === undefined && cert === undefined && key === undefined) return null;
  if ((cert === undefined) !== (key === undefined)) {
    throw invalid("--nats-cert and --nats-key: one needs the other");
  }
  if (ca !== undefined) checkCertificate("--nats-ca", ca);
  if (cert !== undefined) checkCertificate("--nats-cert", cert);
  if (key !== undefined) readText("--nats-key", key);
  return {
    ...(ca !== undefined && { caFile: ca }),
    ...(cert !== undefined && { certFile: cert }),
    ...(key !== undefined && { keyFile: key }),
  };
}

/**
 * The client does not say which address it has dialled, and Node then compares the certificate with "localhost". With this it
 * is compared with the addresses among the URLs instead: it must be that of one of the servers.
 */
export function addressCheck(urls: readonly URL[]): TlsOptions {
  const addresses = urls
    .map(({ hostname }) => hostname.replace(/^\[|\]$/g, ""))
    .filter((host) => isIP(host) !== 0);
  if (addresses.length === 0) return {};
  const check = (host: string, certificate: PeerCertificate): Error | undefined => {
    const problem = checkServerIdentity(host, certificate);
    if (problem === undefined || host !== "localhost") return problem;
    const fits = addresses.some((one) => checkServerIdentity(one, certificate) === undefined);
    return fits ? undefined : checkServerIdentity(addresses[0] ?? host, certificate);
  };
  return { checkServerIdentity: check } as TlsOptions;
}

function checkCertificate(flag: string, file: string): void {
  const text = readText(flag, file);
  try {
    new X509Certificate(text);
  } catch (error) {
    throw invalid(`${flag}: ${file} holds no certificate in PEM`, error);
  }
}

function readText(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw invalid(`${flag}: ${file} cannot be read`, error);
  }
}

function invalid(problem: string, cause?: unknown): ServingError {
  return new ServingError("config_invalid", { problem }, { cause });
}
