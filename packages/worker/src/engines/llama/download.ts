/** Downloads by Node alone. */

import { createWriteStream } from "node:fs";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { pipeline } from "node:stream/promises";

/** How long a server may take to answer, or pause: an offline machine must not be kept waiting. */
const connectTimeoutMs = 2_500;
const pauseTimeoutMs = 30_000;
const maxRedirects = 5;

/** Saves what the URL gives to a file. Calls back with bytes so far and, if known, in all. */
export async function downloadFile(
  url: string,
  path: string,
  onBytes: (done: number, total: number | undefined) => void,
): Promise<void> {
  const response = await open(url, maxRedirects);
  const length = Number(response.headers["content-length"]);
  const total = Number.isFinite(length) ? length : undefined;
  let done = 0;
  response.on("data", (chunk: Buffer) => {
    done += chunk.length;
    onBytes(done, total);
  });
  await pipeline(response, createWriteStream(path, { flags: "wx" }));
}

function open(url: string, redirectsLeft: number): Promise<IncomingMessage> {
  const get = url.startsWith("https:") ? getHttps : getHttp;
  return new Promise((resolve, reject) => {
    const request = get(url, { timeout: connectTimeoutMs }, (response) => {
      const { statusCode = 0, headers } = response;
      if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
        response.resume();
        if (redirectsLeft === 0) reject(new Error("too many redirects"));
        else resolve(open(new URL(headers.location, url).href, redirectsLeft - 1));
        return;
      }
      if (statusCode !== 200) {
        response.resume();
        reject(new Error(`status ${statusCode}`));
        return;
      }
      request.setTimeout(pauseTimeoutMs);
      resolve(response);
    });
    request.once("timeout", () => request.destroy(new Error("no answer in time")));
    request.once("error", reject);
  });
}
