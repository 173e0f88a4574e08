import { describe, expect, it } from "vitest";
import { chatBody } from "../support/api-rig.ts";
import { deltaOf, summary } from "../support/fake-port.ts";
import { chatRequest } from "../support/raw-client.ts";
import { clientOf, rigWith } from "../support/wire-rigs.ts";

const chat = JSON.stringify(chatBody);

function post(fields: string, body = ""): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${fields}\r\n\r\n${body}`;
}
const chunked = "2\r\n{}\r\n0\r\n\r\n";

describe("what is not well-formed HTTP", () => {
  it.each([
    ["no HTTP at all", "hello\r\n\r\n"],
    ["a TLS greeting", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["HTTP/2.0 in the style of 1", "GET /live HTTP/2.0\r\nhost: x\r\n\r\n"],
    ["HTTP/0.9", "GET /live\r\n\r\n"],
    ["an unknown method", "FOO /live HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["a space in the path", "GET /live x HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["no host", "GET /live HTTP/1.1\r\n\r\n"],
    ["two hosts", "GET /live HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n"],
    ["a length and chunks", post("content-length: 2\r\ntransfer-encoding: chunked", chunked)],
    ["chunks and a length", post("transfer-encoding: chunked\r\ncontent-length: 2", chunked)],
    ["the length twice", post("content-length: 2\r\ncontent-length: 2", "{}")],
    ["two lengths", post("content-length: 2\r\ncontent-length: 3", "{}")],
    ["a list of lengths", post("content-length: 2, 2", "{}")],
    ["a signed length", post("content-length: +2", "{}")],
    ["a negative length", post("content-length: -2", "{}")],
    ["a hexadecimal length", post("content-length: 0x2", "{}")],
    ["an endless length", post("content-length: 99999999999999999999", "{}")],
    ["a folded header", post("x-a: b\r\n c\r\ncontent-length: 2", "{}")],
    ["a folded length", post("content-length:\r\n 2", "{}")],
    ["a folded coding", post("transfer-encoding:\r\n chunked", chunked)],
    ["bare line feeds", "GET /live HTTP/1.1\nhost: x\n\n"],
    ["one bare line feed", "GET /live HTTP/1.1\r\nhost: x\nx: y\r\n\r\n"],
    ["a bare carriage return", post("x-a: b\rc\r\ncontent-length: 2", "{}")],
    ["a zero byte in a header", post("x-a: b\0\r\ncontent-length: 2", "{}")],
    ["a space before the colon", post("content-length : 2", "{}")],
    ["a space before the first header", "GET /live HTTP/1.1\r\n host: x\r\n\r\n"],
    ["a header without a name", post(": x\r\ncontent-length: 2", "{}")],
    ["another coding", post("transfer-encoding: xchunked", chunked)],
    ["a coding that is prefixed", post("transfer-encoding: \x0bchunked", chunked)],
    ["a coding in quotes", post('transfer-encoding: "chunked"', chunked)],
    ["a coding with a parameter", post("transfer-encoding: chunked;x=y", chunked)],
    ["a coding on top", post("transfer-encoding: gzip, chunked", chunked)],
    ["a coding beneath", post("transfer-encoding: chunked, identity", chunked)],
    ["chunks twice", post("transfer-encoding: chunked\r\ntransfer-encoding: chunked", chunked)],
    ["identity", post("transfer-encoding: identity", chunked)],
    ["chunks in HTTP/1.0", post("transfer-encoding: chunked", chunked).replace("1.1", "1.0")],
    ["a chunk's size with a prefix", post("transfer-encoding: chunked", "0x2\r\n{}\r\n0\r\n\r\n")],
    ["a chunk that is too long", post("transfer-encoding: chunked", "2\r\n{}x\r\n0\r\n\r\n")],
    ["a chunk's size that overflows", post("transfer-encoding: chunked", `${"f".repeat(17)}\r\n`)],
    ["chunks with line feeds", post("transfer-encoding: chunked", "2\n{}\n0\n\n")],
    [
      "a length in the trailer",
      post("transfer-encoding: chunked", "0\r\ncontent-length: 9\r\n\r\n"),
    ],
    ["an unknown expectation", post("expect: a-miracle\r\ncontent-length: 2", "{}")],
  ])("is refused as every other mistake: %s", async (_title, bytes) => {
    const rig = await rigWith();
    const client = clientOf(rig).send(bytes);

    const answers = await client.toEnd();

    expect(answers).toHaveLength(1);
    const [{ status, headers, body } = { status: 0, headers: {}, body: "" }] = answers;
    expect(status).toBe(400);
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "x-request-id": expect.stringMatching(/^req-/),
      connection: "close",
    });
    expect(JSON.parse(body)).toEqual({
      error: {
        message: expect.any(String),
        type: "invalid_request_error",
        param: null,
        code: "invalid_request",
        stage: "received",
        request_id: expect.stringMatching(/^req-/),
      },
    });
    expect(rig.port.requests).toEqual([]);
    expect(rig.counted).toEqual(["invalid_request"]);
  });

  it.each([
    [
      "a head that is too large",
      `GET /live HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(20_000)}\r\n\r\n`,
      431,
      "headers_too_large",
    ],
    [
      "a path that is too large",
      `GET /${"y".repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
      431,
      "headers_too_large",
    ],
    [
      "too large an extension of a chunk",
      post("transfer-encoding: chunked", `2;${"x".repeat(20_000)}\r\n`),
      413,
      "payload_too_large",
    ],
    ["a tunnel", "CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n", 404, "route_not_found"],
    ["a body that ends too early", post("content-length: 9", "{}"), 400, "invalid_request"],
    ["a head that ends too early", "GET /live HTT", 400, "invalid_request"],
  ])("is refused with a code of its own: %s", async (_title, bytes, status, code) => {
    const rig = await rigWith();
    const client = clientOf(rig).send(bytes);
    client.socket.end();

    const answers = await client.toEnd();

    expect(answers.map((answer) => answer.status)).toEqual([status]);
    expect(JSON.parse(answers[0]?.body ?? "")).toMatchObject({ error: { code } });
    expect(rig.counted).toEqual([code]);
  });

  it("is answered after what was asked before it, and never into the middle", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = (sink) => sink.output([deltaOf("Hel")]);
    const client = clientOf(rig).send(chatRequest(JSON.stringify({ ...chatBody, stream: true })));
    await client.until(() => client.heard.includes("Hel"));

    client.send("nonsense\r\n\r\n").send("more nonsense\r\n\r\n");
    // The server has read the nonsense when it answers another client that asked later.
    await fetch(`${rig.url}/live`);
    const sink = rig.port.sinks[0];
    sink?.output([deltaOf("lo", { finishReason: "stop" })]);
    sink?.ended({ kind: "completed", summary });
    const answers = await client.toEnd();

    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
    expect(answers[0]?.body).toContain("[DONE]");
    expect(rig.port.cancelled).toBe(0);
  });

  it("cannot be hidden behind a body: what follows its length is another request", async () => {
    const rig = await rigWith();
    const hidden = "GET /live HTTP/1.1\r\nhost: x\r\n\r\n";

    const answers = await clientOf(rig)
      .send(chatRequest(chat) + hidden)
      .answers(2);

    expect(answers.map(({ status, body }) => [status, body.slice(0, 8)])).toEqual([
      [200, '{"id":"c'],
      [200, '{"status'],
    ]);
  });

  it("takes what stands behind it with it", async () => {
    const rig = await rigWith();
    const hidden = chatRequest(chat);

    const answers = await clientOf(rig)
      .send(`GET /live HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n${hidden}`)
      .toEnd();

    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(rig.port.requests).toEqual([]);
  });

  it("does not end the other connections", async () => {
    const rig = await rigWith();
    const good = clientOf(rig).send(chatRequest(chat));
    await good.answers(1);

    await clientOf(rig).send("hello\r\n\r\n").toEnd();
    const answers = await good.send(chatRequest(chat)).answers(2);

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });
});

describe("what stands behind the end of a connection", () => {
  it("is not looked at when the client has ended it", async () => {
    const rig = await rigWith();

    const answers = await clientOf(rig)
      .send(chatRequest(chat, { connection: "close" }) + chatRequest(chat))
      .toEnd();

    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(rig.port.requests).toHaveLength(1);
  });

  it("is not looked at when a request was answered before it was read", async () => {
    const rig = await rigWith();
    const asked = chatRequest("{}", { "content-type": "text/plain" });

    const answers = await clientOf(rig)
      .send(asked + chatRequest(chat))
      .toEnd();

    expect(answers.map(({ status }) => status)).toEqual([415]);
    expect(rig.port.requests).toEqual([]);
  });
});

describe("a path or a method that there is not", () => {
  it.each([
    ["TRACE /live", 405, "GET, HEAD"],
    ["DELETE /v1/models/m", 405, "GET, HEAD"],
    ["PUT /v1/chat/completions", 405, "POST"],
    ["OPTIONS /v1/completions", 405, "POST"],
    ["QUERY /live", 405, "GET, HEAD"],
    ["PROPFIND /live", 405, "GET, HEAD"],
    ["OPTIONS *", 404, undefined],
    ["GET /", 404, undefined],
    ["GET //live", 404, undefined],
    ["GET /live/", 404, undefined],
    ["GET /LIVE", 404, undefined],
    ["GET /live/..", 404, undefined],
    ["GET /?/live", 404, undefined],
    ["GET http://x", 404, undefined],
    ["GET /v1/models/%zz", 400, undefined],
    [`GET /v1/models/${"m".repeat(3_000)}`, 404, undefined],
  ])("is refused as every other mistake: %.40s", async (line, status, allow) => {
    const rig = await rigWith();

    const answers = await clientOf(rig).send(`${line} HTTP/1.1\r\nhost: x\r\n\r\n`).answers(1);

    const [{ headers, body } = { headers: {} as Record<string, string>, body: "" }] = answers;
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    expect([headers.allow, headers["x-request-id"]]).toEqual([allow, expect.any(String)]);
    expect(JSON.parse(body).error).toMatchObject({ stage: "received" });
    expect(rig.logged).toEqual([]);
  });

  it("is refused without a look at the body", async () => {
    const rig = await rigWith();
    const asked = chatRequest("not json", { "content-type": "x/y z", "content-length": "99999" });

    const answers = await clientOf(rig).send(asked.replace("/v1/chat", "/v2/chat")).answers(1);

    expect(answers.map(({ status }) => status)).toEqual([404]);
  });
});

describe("what may look odd and is well-formed", () => {
  it.each([
    [
      "chunks",
      post("transfer-encoding: chunked", `${chat.length.toString(16)}\r\n${chat}\r\n0\r\n\r\n`),
    ],
    [
      "chunks in another case",
      post("Transfer-Encoding: ChUnKeD", `${chat.length.toString(16)}\r\n${chat}\r\n0\r\n\r\n`),
    ],
    [
      "a chunk a byte, with extensions and a trailer",
      post(
        "transfer-encoding: chunked",
        `${[...chat].map((c) => `1;x=y\r\n${c}\r\n`).join("")}0\r\nx: y\r\n\r\n`,
      ),
    ],
    ["empty lines before it", `\r\n\r\n${chatRequest(chat)}`],
    ["HTTP/1.0 without a host", chatRequest(chat, { host: null }).replace("1.1", "1.0")],
    ["an absolute address", chatRequest(chat).replace(" /v1", " http://x/v1")],
    ["a query", chatRequest(chat).replace("completions HTTP", "completions?a=b HTTP")],
    [
      "an upgrade that is not wanted",
      chatRequest(chat, { connection: "upgrade, http2-settings", upgrade: "h2c" }),
    ],
    ["3,000 headers", chatRequest(chat).replace("host", `${"a:\r\n".repeat(3_000)}host`)],
  ])("is served: %s", async (_title, bytes) => {
    const rig = await rigWith();

    const answers = await clientOf(rig).send(bytes).answers(1);

    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(JSON.parse(answers[0]?.body ?? "")).toMatchObject({
      choices: [{ message: { content: "Hello" } }],
    });
  });

  it("byte by byte, too", async () => {
    const rig = await rigWith();
    const client = clientOf(rig);
    client.socket.setNoDelay(true);

    for (const byte of chatRequest(chat)) {
      client.send(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }

    expect((await client.answers(1)).map(({ status }) => status)).toEqual([200]);
  });

  it("a hundred requests at once on one connection, answered in order", async () => {
    const rig = await rigWith();
    const requests = Array.from({ length: 100 }, (_, at) =>
      at % 10 === 9
        ? "GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n"
        : chatRequest(chat, { "x-request-id": `r${at}` }),
    );

    const answers = await clientOf(rig).send(requests.join("")).answers(100);

    expect(answers.map(({ status }) => status)).toEqual(
      requests.map((_, at) => (at % 10 === 9 ? 404 : 200)),
    );
    expect(answers[42]?.headers["x-request-id"]).toBe("r42");
  });

  it("a client that has said all and only listens", async () => {
    const rig = await rigWith();
    const client = clientOf(rig).send(chatRequest(chat));
    client.socket.end();

    expect((await client.toEnd()).map(({ status }) => status)).toEqual([200]);
  });
});

describe("too many connections", () => {
  it("are closed at once, and counted", async () => {
    const rig = await rigWith({ maxConnections: 1 });
    const first = clientOf(rig).send(chatRequest(chat));
    await first.answers(1);

    const second = clientOf(rig).send(chatRequest(chat));
    await second.toEnd();

    expect(second.heard).toBe("");
    expect(rig.connectionsRefused).toBe(1);
  });
});

describe("a client that asks before it sends", () => {
  const expecting = (fields: Readonly<Record<string, string | null>>) =>
    chatRequest("", { expect: "100-continue", "content-length": String(chat.length), ...fields });

  it("is told to go on", async () => {
    const rig = await rigWith();
    const client = clientOf(rig).send(expecting({}));
    await client.until(() => client.heard !== "");
    expect(client.heard).toBe("HTTP/1.1 100 Continue\r\n\r\n");

    const answers = await client.send(chat).answers(1);

    expect(answers.map(({ status }) => status)).toEqual([200]);
  });

  it.each([
    ["too large a body", { "content-length": "20000" }, 413],
    ["another type", { "content-type": "text/plain" }, 415],
    ["another coding", { "content-encoding": "zstd" }, 415],
    ["no length", { "content-length": "0" }, 400],
  ])("is refused without its body: %s", async (_title, fields, status) => {
    const rig = await rigWith();

    const client = clientOf(rig).send(expecting(fields));

    expect((await client.answers(1)).map((answer) => answer.status)).toEqual([status]);
    expect(client.heard).not.toContain("100 Continue");
  });

  it("is refused without its body at a path that there is not", async () => {
    const rig = await rigWith();

    const client = clientOf(rig).send(expecting({}).replace("/v1/chat", "/v2/chat"));

    expect((await client.answers(1)).map(({ status }) => status)).toEqual([404]);
    expect(client.heard).not.toContain("100 Continue");
  });
});
