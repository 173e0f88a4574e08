import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
    await expect(Promise.race([child.ended, "nothing is said"])).resolves.toBe("nothing is said");
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
  it.each([
    ["kill -KILL $$", "was ended by SIGKILL"],
    ["exit 3", "has ended with code 3"],
  ])("says how a server ended that was not stopped: %s", async (end, how) => {
    const folder = mkdtempSync(join(tmpdir(), "baton-nats-child-"));
    const binary = join(folder, "nats-server");
    const lines = "Listening for client connections on 127.0.0.1:4222\\nServer is ready\\n";
    writeFileSync(binary, `#!/bin/sh\nprintf '${lines}' >&2\nsleep 0.2\n${end}\n`, { mode: 0o755 });

    const child = await startNatsChild(binary, "127.0.0.1", new RealClock());

    expect(await child.ended).toBe(how);
    await child.stop();
    rmSync(folder, { recursive: true });
  });

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
