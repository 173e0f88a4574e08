import { spawn } from "node:child_process";
import { connect } from "node:net";
import { RealClock } from "@baton/runtime";
import { natsAvailable, natsSuiteTitle } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { findNatsServer, startNatsChild } from "../../src/up/nats-child.ts";

describe("findNatsServer", () => {
  it("finds none on a PATH without one", () => {
    expect(findNatsServer("")).toBeNull();
    expect(findNatsServer(import.meta.dirname)).toBeNull();
  });
});

describe.skipIf(!natsAvailable())(natsSuiteTitle("startNatsChild"), () => {
  it("gives a server that listens until it is stopped", async () => {
    const binary = findNatsServer(process.env.PATH ?? "") ?? "";
    const child = await startNatsChild(binary, "127.0.0.1", new RealClock());

    expect(child.url).toMatch(/^nats:\/\/127\.0\.0\.1:\d+$/);

    await child.stop();
  });

  it("ends with the process that started it, even when that is killed", async () => {
    const module = new URL("../../src/up/nats-child.ts", import.meta.url).href;
    const script = `
      import { RealClock } from "@baton/runtime";
      import { findNatsServer, startNatsChild } from ${JSON.stringify(module)};
      const child = await startNatsChild(findNatsServer(process.env.PATH), "127.0.0.1", new RealClock());
      console.log(child.url);`;
    const parent = spawn(
      process.execPath,
      ["--import", "tsx", "--conditions=@baton/source", "--input-type=module", "-e", script],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const url = await new Promise<string>((resolve) =>
      parent.stdout.once("data", (bytes: Buffer) => resolve(bytes.toString().trim())),
    );
    parent.kill("SIGKILL");

    await expect.poll(() => answers(new URL(url)), { timeout: 5_000 }).toBe(false);
  }, 20_000);
});

describe("startNatsChild", () => {
  it("says what went wrong when the binary is none", async () => {
    await expect(
      startNatsChild("/does/not/exist", "127.0.0.1", new RealClock()),
    ).rejects.toMatchObject({
      code: "bus_unavailable",
    });
  });
});

function answers({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
