import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { listenProblem } from "../src/listen-problem.ts";

it("says why, and the address once", async () => {
  const first = createServer().listen(0, "127.0.0.1");
  await once(first, "listening");
  const { port } = first.address() as { port: number };
  const second = createServer().listen(port, "127.0.0.1");
  const [taken] = await once(second, "error");
  const nowhere = createServer().listen(0, "192.0.2.1");
  const [noSuch] = await once(nowhere, "error");
  first.close();

  expect(listenProblem(`127.0.0.1:${port}`, taken)).toBe(
    `cannot listen on 127.0.0.1:${port}: the port is in use`,
  );
  expect(listenProblem("192.0.2.1:0", noSuch)).toBe(
    "cannot listen on 192.0.2.1:0: this machine has no such address",
  );
  expect(listenProblem("a:1", new Error("odd"))).toBe("cannot listen on a:1: odd");
});
