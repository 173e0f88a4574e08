import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { actorId, namespaceName, ServingError, Subjects } from "@baton/protocol";
import { nkeys } from "nats";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type NatsAccess, readNatsAccess } from "../../src/bus/nats-access.ts";
import { connectNats } from "../../src/bus/nats-bus.ts";
import { readNatsTls } from "../../src/bus/nats-tls.ts";
import { silentLogger } from "../../src/logger.ts";
import { hasNatsServer, type NatsServer, startNatsServer } from "../../src/nats-server.ts";
import { noMetrics } from "../../src/no-metrics.ts";
import { RealClock } from "../../src/real-clock.ts";

const script = fileURLToPath(
  new URL("../../../../infra/nats/make-certificates.sh", import.meta.url),
);
const hasOpenssl = spawnSync("openssl", ["version"], { stdio: "ignore" }).status === 0;
const lacking = hasOpenssl ? "no nats-server" : "no openssl: apt-get install openssl";
const subjects = new Subjects(namespaceName("tls"));
const clock = new RealClock();

const rejectionOf = (access: NatsAccess, waitMs?: number) =>
  dial(access, waitMs).then(
    async (bus) => {
      await bus.close();
      throw new Error("it was let in");
    },
    (error: unknown) => ServingError.from(error),
  );

function dial(access: NatsAccess, waitMs = 5_000) {
  const options = { subjects, clock, log: silentLogger(), metrics: noMetrics };
  const deadline = AbortSignal.timeout(waitMs);
  return connectNats(readNatsAccess(access), { ...options, id: actorId("who") }, deadline);
}

describe.skipIf(!hasOpenssl)(`certificates${hasOpenssl ? "" : ` (${lacking})`}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "baton-tls-"));
  const file = (name: string) => join(folder, name);
  beforeAll(() => {
    execFileSync(script, [folder, "127.0.0.1"], { stdio: "ignore" });
    execFileSync(script, [file("other"), "127.0.0.1"], { stdio: "ignore" });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("are none where no file is named, and named by file otherwise", () => {
    expect(readNatsTls({})).toBeNull();
    expect(
      readNatsTls({ ca: file("ca.pem"), cert: file("client.pem"), key: file("client-key.pem") }),
    ).toEqual({
      caFile: file("ca.pem"),
      certFile: file("client.pem"),
      keyFile: file("client-key.pem"),
    });
  });

  it("are refused where a file is missing, is something else, or has no partner", () => {
    writeFileSync(file("hush"), "hush");
    const wrong = [
      [{ ca: file("none") }, /--nats-ca: .*none cannot be read/],
      [{ ca: file("hush") }, /--nats-ca: .*hush holds no certificate/],
      [{ cert: file("client.pem") }, /one needs the other/],
      [{ key: file("client-key.pem") }, /one needs the other/],
    ] as const;
    for (const [files, problem] of wrong) {
      expect(() => readNatsTls(files)).toThrow(
        expect.objectContaining({
          code: "config_invalid",
          message: expect.stringMatching(problem),
        }),
      );
    }
  });

  describe.skipIf(!hasNatsServer())("at a server", () => {
    let server: NatsServer | undefined;
    afterEach(async () => {
      await server?.stop();
      server = undefined;
    });

    async function start(...more: readonly string[]): Promise<string> {
      const tls = `cert_file: "${file("server.pem")}", key_file: "${file("server-key.pem")}"`;
      const all = more.includes("verify") ? `, ca_file: "${file("ca.pem")}", verify: true` : "";
      server = await startNatsServer({
        lines: [`tls { ${tls}${all} }`, ...more.filter((line) => line !== "verify")],
      });
      return server.url.replace("nats:", "tls:");
    }

    it("let in whoever trusts it, and carry requests", async () => {
      const nats = await start();
      const bus = await dial({ nats, natsCa: file("ca.pem") });
      bus.subscribe("baton.v1.tls.echo", (message) => message.respond(message.payload));

      const answer = await bus.request("baton.v1.tls.echo", new Uint8Array([7]), {
        timeoutMs: 2_000,
      });

      expect([...answer]).toEqual([7]);
      await bus.close();
    });

    it("turn away at once whoever trusts another authority or only the system's", async () => {
      const nats = await start();

      for (const natsCa of [join(file("other"), "ca.pem"), undefined]) {
        const error = await rejectionOf({ nats, natsCa });

        expect(error).toMatchObject({
          code: "bus_unavailable",
          message: expect.stringContaining("certificate is not trusted"),
        });
      }
    });

    it("turn away a client that has dialled an address that the certificate does not name", async () => {
      execFileSync(script, [file("named"), "nats.example"], { stdio: "ignore" });
      const tls = `cert_file: "${file("named/server.pem")}", key_file: "${file("named/server-key.pem")}"`;
      server = await startNatsServer({ lines: [`tls { ${tls} }`] });
      const nats = server.url.replace("nats:", "tls:");

      const error = await rejectionOf({ nats, natsCa: file("named/ca.pem") });

      expect(error.message).toMatch(/not trusted.*127\.0\.0\.1/);
    });

    it("let in whoever shows one, where the server asks for it", async () => {
      const nats = await start("verify");
      const access = { nats, natsCa: file("ca.pem") };

      const bus = await dial({
        ...access,
        natsCert: file("client.pem"),
        natsKey: file("client-key.pem"),
      });
      await bus.close();

      // Such a server just closes, as one does that goes down: the client tries again until its deadline.
      expect(await rejectionOf(access, 500)).toMatchObject({ code: "bus_unavailable" });
    });

    it("go with a token and with an nkey, each from a file", async () => {
      const key = nkeys.createUser();
      const logins = [
        [{ token: "t-17" }, 'authorization { token: "t-17" }'],
        [
          { nkey: new TextDecoder().decode(key.getSeed()) },
          `authorization { users = [ { nkey: ${key.getPublicKey()} } ] }`,
        ],
      ] as const;
      for (const [login, line] of logins) {
        const nats = await start(line);
        const access = { nats, natsCa: file("ca.pem"), natsCreds: file("login.json") };
        writeFileSync(file("login.json"), JSON.stringify(login));

        await (await dial(access)).close();
        writeFileSync(file("login.json"), JSON.stringify({ user: "u", password: "wrong" }));

        expect((await rejectionOf(access)).message).toMatch(/refuses the credentials/);
        await server?.stop();
      }
    });
  });
});
