import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { downloadFile } from "../../../src/engines/llama/download.ts";

let folder = "";
let server: Server;
let url = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-download-"));
  server = createServer((request, response) => {
    if (request.url === "/loop") response.writeHead(302, { location: "/loop" }).end();
    else if (request.url === "/missing") response.writeHead(404).end("no");
    else if (request.url === "/cut") {
      response.writeHead(200, { "content-length": "100" });
      response.write("half");
      response.destroy();
    } else if (request.url !== "/silent") response.end("whole");
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

describe("downloadFile", () => {
  it("saves the body and reports bytes", async () => {
    const seen: (number | undefined)[][] = [];
    await downloadFile(`${url}/a`, join(folder, "a"), (done, total) => seen.push([done, total]));
    expect(await readFile(join(folder, "a"), "utf8")).toBe("whole");
    expect(seen).toEqual([[5, 5]]);
  });

  it.each([
    ["/missing", "status 404"],
    ["/loop", "too many redirects"],
    ["/silent", "no answer in time"],
    ["/cut", /hang up|aborted/],
  ])("fails for %s", async (path, message) => {
    const attempt = downloadFile(url + path, join(folder, path.slice(1)), () => {});
    await expect(attempt).rejects.toThrow(message);
  });
});
