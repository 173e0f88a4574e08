import { ServingError } from "@baton/protocol";

/** `host:port`, an IPv6 host in brackets. */
export function formatAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The two halves of a ticket's address. Throws `handoff_refused` if it is not one. */
export function parseAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || !(port >= 1 && port <= 65_535)) {
    throw new ServingError("handoff_refused", { problem: "the ticket's address is not host:port" });
  }
  return { host, port };
}
