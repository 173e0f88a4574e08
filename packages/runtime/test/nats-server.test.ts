import { connect } from "nats";
import { expect, it } from "vitest";
import { startNatsServer } from "../src/nats-server.ts";
import { natsSuite } from "./bus/nats-suite.ts";

natsSuite("startNatsServer", () => {
  it("listens on a free port, keeps it over a restart, and takes the limits it is given", async () => {
    const server = await startNatsServer({ maxPayload: 2_048 });
    const { port } = server;
    const first = await connect({ servers: server.url });
    expect(first.info?.max_payload).toBe(2_048);
    await first.close();

    await server.restart({ maxPayload: 4_096 });
    const second = await connect({ servers: server.url });
    const maxPayload = second.info?.max_payload;
    await second.close();
    await server.stop();

    expect(server.port).toBe(port);
    expect(maxPayload).toBe(4_096);
    await expect(connect({ servers: server.url, reconnect: false })).rejects.toThrow();
  });

  it("rejects with what the server says when it cannot start", async () => {
    const server = await startNatsServer();

    await expect(startNatsServer({ port: server.port })).rejects.toThrow(/address already in use/);
    await server.stop();
  });
});
