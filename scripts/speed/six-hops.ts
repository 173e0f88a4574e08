import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startNatsServer } from "@baton/runtime";
import { connect } from "nats";

/**
 * Milliseconds that six hops take one after the other, each with a message of 1 KiB from one process to another through
 * `nats-server` and nothing else: what a request of ours can at best take to its first token. One figure a try, in order.
 */
export async function sixHops(tries: number): Promise<number[]> {
  const server = await startNatsServer();
  const program = fileURLToPath(new URL("echo.mjs", import.meta.url));
  const echo = spawn(process.execPath, [program, server.url], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await new Promise<void>((resolve) => echo.stdout.once("data", () => resolve()));
  const connection = await connect({ servers: server.url });
  const payload = new Uint8Array(1_024);
  const took: number[] = [];
  for (let i = 0; i < tries; i += 1) {
    const startedAt = performance.now();
    for (let hops = 0; hops < 6; hops += 2) await connection.request("hop", payload);
    took.push(performance.now() - startedAt);
  }
  await connection.close();
  echo.stdin.end();
  await server.stop();
  return took;
}
