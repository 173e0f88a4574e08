const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use",
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "the port is not permitted to this user",
  ENOTFOUND: "there is no such host",
};

/** What is wrong where a server cannot listen on an address, `host:port`, said once. */
export function listenProblem(address: string, error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return `cannot listen on ${address}: ${reasons[code] ?? message}`;
}
