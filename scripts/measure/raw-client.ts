import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A client of one kept connection, as cheap as it can be: one request at a time, its answer has a length. */
export class RawClient {
  readonly #socket: Socket;
  #lost: (error: Error) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("error", (error) => this.#lost(error));
    socket.on("close", () => this.#lost(new Error("the connection was closed")));
  }

  static async open(api: string): Promise<RawClient> {
    const { hostname, port } = new URL(api);
    const socket = connect(Number(port), hostname).setNoDelay(true);
    await once(socket, "connect");
    return new RawClient(socket);
  }

  /** The body of the answer. Rejects if its status is not 200, or if the connection ends before. */
  ask(request: Buffer): Promise<string> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      this.#lost = reject;
      const pieces: Buffer[] = [];
      const hear = (piece: Buffer): void => {
        pieces.push(piece);
        const body = bodyOf(Buffer.concat(pieces));
        if (body === null) return;
        socket.off("data", hear);
        if (body.isGood) resolve(body.text);
        else reject(new Error(body.text.slice(0, 500)));
      };
      socket.on("data", hear);
      socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** The body of an answer; null while it is not whole. */
function bodyOf(heard: Buffer): { readonly isGood: boolean; readonly text: string } | null {
  const headEnd = heard.indexOf("\r\n\r\n");
  if (headEnd === -1) return null;
  const head = heard.toString("latin1", 0, headEnd);
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
  if (heard.length - headEnd - 4 < length) return null;
  return { isGood: head.startsWith("HTTP/1.1 200"), text: heard.toString("utf8", headEnd + 4) };
}

/** The bytes of a POST. */
export function requestOf(path: string, body: object): Buffer {
  const json = JSON.stringify(body);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`,
  );
}
