import { once } from "node:events";
import { createServer, get, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { StreamWriter } from "../../src/http/stream-writer.ts";

const servers: Server[] = [];

/** A server that hands each response to the test, and its port. */
async function serving(answer: (response: ServerResponse) => void): Promise<number> {
  const server = createServer((_request, response) => answer(response));
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function writerOf(response: ServerResponse, maxBufferBytes = 100_000): StreamWriter {
  return new StreamWriter(response, maxBufferBytes, { onCut: () => undefined });
}

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

describe("the writer of a stream", () => {
  it("frames what it writes so that HTTP clients read it whole", async () => {
    const port = await serving((response) => {
      const writer = writerOf(response);
      writer.open({ "content-type": "text/plain" }, "é");
      writer.write("€😀");
      setImmediate(() => {
        writer.write("");
        writer.write("x".repeat(70_000));
        writer.end("end");
      });
    });

    const [response] = await once(get({ port, host: "127.0.0.1" }), "response");
    let text = "";
    response.setEncoding("utf8");
    for await (const piece of response) text += piece;

    expect(text).toBe(`é€😀${"x".repeat(70_000)}end`);
    expect(response.headers["transfer-encoding"]).toBe("chunked");
  });

  it("sends plain bytes to a client of HTTP/1.0, until the connection ends", async () => {
    const port = await serving((response) => {
      const writer = writerOf(response);
      writer.open({}, "a");
      writer.write("b");
      writer.end("c");
    });
    const socket = connect(port, "127.0.0.1");
    let heard = "";
    socket.setEncoding("utf8").on("data", (piece: string) => {
      heard += piece;
    });

    socket.write("GET / HTTP/1.0\r\n\r\n");
    await once(socket, "close");

    expect(heard.split("\r\n\r\n")[1]).toBe("abc");
  });

  it("says whether the head has gone, and writes nothing after the end", async () => {
    const states: boolean[] = [];
    const port = await serving((response) => {
      const writer = writerOf(response);
      states.push(writer.isOpen);
      writer.open({}, "a");
      states.push(writer.isOpen);
      writer.end("b");
      writer.write("late");
    });

    const text = await (await fetch(`http://127.0.0.1:${port}`)).text();

    expect(text).toBe("ab");
    expect(states).toEqual([false, true]);
  });
});
