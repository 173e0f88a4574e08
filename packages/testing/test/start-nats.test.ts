import { describe, expect, it } from "vitest";
import { natsAvailable, natsSuiteTitle, sharedNats, startNats } from "../src/start-nats.ts";

describe("natsSuiteTitle", () => {
  it("says which command is missing where there is no server", () => {
    const title = natsSuiteTitle("suite");

    if (natsAvailable()) expect(title).toBe("suite");
    else expect(title).toContain("apt-get install nats-server");
  });
});

describe.skipIf(!natsAvailable())(natsSuiteTitle("startNats"), () => {
  it("starts servers beside each other", async () => {
    const servers = await Promise.all([startNats(), startNats()]);

    expect(new Set(servers.map((server) => server.url)).size).toBe(2);
    await Promise.all(servers.map((server) => server.stop()));
  });

  it("takes the server of NATS_URL where the suite leaves it running", async () => {
    process.env.NATS_URL = "nats://elsewhere:4222";
    try {
      const shared = await sharedNats();
      expect(shared.url).toBe("nats://elsewhere:4222");
      await shared.stop();
    } finally {
      Reflect.deleteProperty(process.env, "NATS_URL");
    }
  });
});
