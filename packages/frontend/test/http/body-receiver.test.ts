import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { chatBody } from "../support/api-rig.ts";
import { heldBytes } from "../support/held-bytes.ts";
import { chatRequest, type RawAnswer, RawClient } from "../support/raw-client.ts";
import { clientOf, rigWith } from "../support/wire-rigs.ts";

const chat = JSON.stringify(chatBody);

function errorOf(answer: RawAnswer | undefined): Record<string, unknown> {
  return { status: answer?.status, ...JSON.parse(answer?.body ?? "").error };
}

/** A request for a chat with these bytes as its body. */
function withBytes(bytes: Buffer, fields: Readonly<Record<string, string>> = {}): Buffer {
  const head = chatRequest("", { "content-length": String(bytes.length), ...fields });
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}

describe("a body that is too large", () => {
  it("is refused by its length, before any of it has come", async () => {
    const rig = await rigWith();

    const answers = await clientOf(rig)
      .send(chatRequest("", { "content-length": "10001" }))
      .answers(1);

    expect(errorOf(answers[0])).toMatchObject({
      status: 413,
      code: "payload_too_large",
      message: "the body is over 10000 bytes",
    });
    expect(answers[0]?.headers.connection).toBe("close");
    expect(rig.counted).toEqual(["payload_too_large"]);
  });

  it("is refused in chunks as soon as it passes the limit", async () => {
    const rig = await rigWith();
    const client = clientOf(rig).send(
      chatRequest("", { "content-length": null, "transfer-encoding": "chunked" }),
    );
    const piece = `3e8\r\n${"x".repeat(1_000)}\r\n`;

    client.send(piece.repeat(10));
    await fetch(`${rig.url}/live`);
    expect(client.heard).toBe("");
    client.send("1\r\nx\r\n");

    expect(errorOf((await client.answers(1))[0])).toMatchObject({ status: 413 });
  });

  it("is refused so that a client that sends all of it first gets to read why", async () => {
    const rig = await rigWith();
    const bytes = withBytes(Buffer.alloc(4_000_000, "x"));

    const answers = await clientOf(rig).send(bytes).toEnd();

    expect(answers.map(({ status }) => status)).toEqual([413]);
  });

  it("may be exactly as large as the limit", async () => {
    const rig = await rigWith();
    const body = JSON.stringify({ ...chatBody, user: "u".repeat(10_000 - chat.length - 10) });
    expect(body.length).toBe(10_000);

    const answers = await clientOf(rig).send(chatRequest(body)).answers(1);

    expect(answers.map(({ status }) => status)).toEqual([200]);
  });
});

describe("a hundred bodies that are refused", () => {
  it("leave nothing behind", async () => {
    const rig = await rigWith();
    const bytes = withBytes(Buffer.alloc(10_000_000, "x"));
    const refuse = async (): Promise<void> => {
      const client = new RawClient(rig.url).send(bytes);
      expect((await client.toEnd()).map(({ status }) => status)).toEqual([413]);
      client.close();
      rig.counted.length = 0;
    };
    await refuse();
    const before = await heldBytes();

    for (let count = 0; count < 100; count += 1) await refuse();

    expect((await heldBytes()) / before).toBeLessThan(1.1);
  }, 60_000);
});

describe("a folded body", () => {
  it.each([
    ["gzip", gzipSync(chat)],
    ["x-gzip", gzipSync(chat)],
    ["GZip", gzipSync(chat)],
    ["deflate", deflateSync(chat)],
    ["br", brotliCompressSync(chat)],
    ["identity", Buffer.from(chat)],
  ])("is unfolded: %s", async (coding, bytes) => {
    const rig = await rigWith();

    const answers = await clientOf(rig)
      .send(withBytes(bytes, { "content-encoding": coding }))
      .answers(1);

    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(rig.port.requests[0]?.prompt).toMatchObject({ kind: "chat" });
  });

  it.each([
    ["gzip", gzipSync(Buffer.alloc(50_000_000, " "))],
    ["deflate", deflateSync(Buffer.alloc(50_000_000, " "))],
    ["br", brotliCompressSync(Buffer.alloc(50_000_000, " "))],
  ])("is refused if it unfolds to more than the limit: %s", async (coding, bytes) => {
    const rig = await rigWith({ maxBodyBytes: 100_000 });
    expect(bytes.length).toBeLessThan(100_000);

    const answers = await clientOf(rig)
      .send(withBytes(bytes, { "content-encoding": coding }))
      .answers(1);

    expect(errorOf(answers[0])).toMatchObject({ status: 413, code: "payload_too_large" });
  });

  it.each([
    ["gzip", Buffer.from(chat)],
    ["gzip", gzipSync(chat).subarray(0, -9)],
    ["deflate", gzipSync(chat)],
    ["br", Buffer.from("no brotli")],
  ])("is refused if it is not what it says: %s", async (coding, bytes) => {
    const rig = await rigWith();

    const answers = await clientOf(rig)
      .send(withBytes(bytes, { "content-encoding": coding }))
      .answers(1);

    expect(errorOf(answers[0])).toMatchObject({
      status: 400,
      code: "invalid_request",
      message: `the body is not ${coding}, as content-encoding says`,
    });
  });

  it.each(["zstd", "gzip, br", "gzip, gzip", "x"])(
    "is refused in another way: %s",
    async (coding) => {
      const rig = await rigWith();

      const answers = await clientOf(rig)
        .send(withBytes(gzipSync(chat), { "content-encoding": coding }))
        .answers(1);

      expect(errorOf(answers[0])).toMatchObject({
        status: 415,
        code: "unsupported_media_type",
        message: "content-encoding must be one of gzip, deflate, br",
      });
    },
  );
});

describe("a body of another type", () => {
  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "application/json-seq",
    "x/json",
    "",
    "application/json; charset=latin1",
    'application/json; charset="utf-16"',
  ])("is refused: %j", async (type) => {
    const rig = await rigWith();

    const answers = await clientOf(rig)
      .send(chatRequest(chat, { "content-type": type }))
      .answers(1);

    expect(errorOf(answers[0])).toMatchObject({ status: 415, code: "unsupported_media_type" });
  });

  it("is refused without a type", async () => {
    const rig = await rigWith();

    const answers = await clientOf(rig)
      .send(chatRequest(chat, { "content-type": null }))
      .answers(1);

    expect(errorOf(answers[0])).toMatchObject({ status: 415 });
  });

  it.each([
    "application/json; charset=utf-8",
    "Application/JSON;charset=UTF8",
    'application/json ; charset="utf-8"',
    "application/vnd.api+json",
    "application/json;",
  ])("is none if its type is JSON in other words: %j", async (type) => {
    const rig = await rigWith();

    const answers = await clientOf(rig)
      .send(chatRequest(chat, { "content-type": type }))
      .answers(1);

    expect(answers.map(({ status }) => status)).toEqual([200]);
  });
});

describe("a body that is no body", () => {
  it.each([
    ["empty", chatRequest(""), /empty/],
    [
      "of no chunk",
      chatRequest("0\r\n\r\n", { "content-length": null, "transfer-encoding": "chunked" }),
      /empty/,
    ],
    ["without a length", chatRequest("", { "content-length": null }), /empty/],
    ["not UTF-8", chatRequest('{"model":"\xe9"}'), /UTF-8/],
    ["not JSON", chatRequest("{"), /^the body is not JSON/],
    ["JSON with more behind it", chatRequest(`${chat}x`), /^the body is not JSON/],
    ["a key twice", chatRequest('{"model":"a","model":"b"}'), /"model" stands twice/],
    ["10,000 arrays deep", chatRequest("[".repeat(5_000) + "]".repeat(5_000)), /nested deeper/],
  ])("is refused: %s", async (_title, request, message) => {
    const rig = await rigWith();

    const answers = await clientOf(rig).send(request).answers(1);

    expect(errorOf(answers[0])).toMatchObject({
      status: 400,
      code: "invalid_request",
      message: expect.stringMatching(message),
    });
    expect(rig.port.requests).toEqual([]);
  });

  it("leaves the connection for the next request, once it was read", async () => {
    const rig = await rigWith();

    const answers = await clientOf(rig)
      .send(chatRequest("{") + chatRequest(chat))
      .answers(2);

    expect(answers.map(({ status }) => status)).toEqual([400, 200]);
  });
});

describe("many bodies at once", () => {
  const half = chatRequest("", { "content-length": "1000" }) + " ".repeat(500);

  it("hold no more bytes than they may", async () => {
    const rig = await rigWith({ maxReceivingBytes: 1_200 });
    const first = clientOf(rig).send(half);
    const second = clientOf(rig).send(half);
    await fetch(`${rig.url}/live`);

    const third = await clientOf(rig).send(half).answers(1);
    second.socket.resetAndDestroy();
    // What the second has held is free once the server has seen it leave.
    await expect.poll(() => rig.counted).toContain("client_gone");
    const fourth = clientOf(rig).send(half);
    await fetch(`${rig.url}/live`);

    expect(errorOf(third[0])).toMatchObject({ status: 529, code: "overloaded" });
    expect([first.heard, fourth.heard]).toEqual(["", ""]);
  });

  it("are no more than they may be", async () => {
    const rig = await rigWith({ maxInFlight: 1 });
    const first = clientOf(rig).send(half);
    await fetch(`${rig.url}/live`);

    const second = await clientOf(rig).send(half).answers(1);
    first.send(`${" ".repeat(500 - chat.length)}${chat}`);
    const served = await first.answers(1);
    const third = await clientOf(rig).send(chatRequest(chat)).answers(1);

    expect(errorOf(second[0])).toMatchObject({ status: 529, code: "overloaded" });
    expect([served[0]?.status, third[0]?.status]).toEqual([200, 200]);
  });
});

describe("a client that leaves while its body arrives", () => {
  it("is counted as gone, not as a mistake of anybody", async () => {
    const rig = await rigWith();
    const client = clientOf(rig).send(`${chatRequest("", { "content-length": "1000" })}{`);
    await fetch(`${rig.url}/live`);

    client.socket.resetAndDestroy();
    await expect.poll(() => rig.counted).toEqual(["client_gone"]);

    expect(rig.logged).toEqual([]);
    expect(rig.port.requests).toEqual([]);
  });
});
