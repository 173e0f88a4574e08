import { connect, type Socket } from "node:net";

/** One answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A client that sends the bytes that a test gives it, whatever they are, and reads what comes. */
export class RawClient {
  readonly socket: Socket;
  heard = "";
  isClosed = false;
  readonly #waiting: (() => void)[] = [];

  /** `url`: of the server. */
  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    this.socket.setEncoding("latin1").on("data", (piece: string) => {
      this.heard += piece;
      this.#wake();
    });
    // A reset is an end like another; tests look at what came before.
    this.socket.on("error", () => undefined);
    this.socket.on("end", () => this.#over());
    this.socket.on("close", () => this.#over());
  }

  send(bytes: string | Uint8Array): this {
    this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
    return this;
  }

  /** Waits for so many whole answers and returns all that came. */
  async answers(count = 1): Promise<readonly RawAnswer[]> {
    await this.until(() => readAnswers(this.heard).length >= count || this.isClosed);
    return readAnswers(this.heard);
  }

  /** Waits for the end of the connection and returns all answers that came. */
  async toEnd(): Promise<readonly RawAnswer[]> {
    await this.until(() => this.isClosed);
    return readAnswers(this.heard);
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  close(): void {
    this.socket.destroy();
  }

  #over(): void {
    this.isClosed = true;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** A request for a chat. `fields` replace or add headers; null leaves one out. */
export function chatRequest(
  body: string,
  fields: Readonly<Record<string, string | null>> = {},
): string {
  const headers = {
    host: "x",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body, "latin1")),
    ...fields,
  };
  const lines = Object.entries(headers).filter(([, value]) => value !== null);
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n${body}`;
}

/** The whole answers in what was heard. Informational ones are left out. */
export function readAnswers(heard: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < heard.length; ) {
    const read = readAnswer(heard, at);
    if (read === null) break;
    if (read.answer.status >= 200) answers.push(read.answer);
    at = read.end;
  }
  return answers;
}

/** The answer that begins at `at`, and where it ends; null if it is not whole. Throws if none begins there. */
export function readAnswer(
  heard: string,
  at: number,
): { readonly answer: RawAnswer; readonly end: number } | null {
  const end = heard.indexOf("\r\n\r\n", at);
  if (end === -1) return null;
  const [start = "", ...lines] = heard.slice(at, end).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(`${start} `)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) throw new Error(`no answer begins so: ${start}`);
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
    }),
  );
  const body = bodyAt(heard, end + 4, status, headers);
  return body && { answer: { status, headers, body: body.text }, end: body.end };
}

function bodyAt(
  heard: string,
  start: number,
  status: number,
  headers: Readonly<Record<string, string>>,
): { readonly text: string; readonly end: number } | null {
  if (status < 200 || status === 204) return { text: "", end: start };
  if (headers["transfer-encoding"] === "chunked") return chunksAt(heard, start);
  const end = start + Number(headers["content-length"] ?? 0);
  return heard.length < end ? null : { text: heard.slice(start, end), end };
}

function chunksAt(
  heard: string,
  start: number,
): { readonly text: string; readonly end: number } | null {
  let text = "";
  for (let at = start; ; ) {
    const line = heard.indexOf("\r\n", at);
    if (line === -1) return null;
    const size = heard.slice(at, line);
    if (!/^[0-9a-f]+$/i.test(size)) throw new Error(`no chunk begins so: ${size.slice(0, 50)}`);
    const length = Number.parseInt(size, 16);
    at = line + 2 + length + 2;
    if (heard.length < at) return null;
    text += heard.slice(line + 2, at - 2);
    if (length === 0) return { text, end: at };
  }
}
