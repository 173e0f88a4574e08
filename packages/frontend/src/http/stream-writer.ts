/** Hot path: `write` once per stream and turn of the loop. Budget 8 µs, most of it the kernel's. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** What a writer tells. */
export interface StreamWriterEvents {
  /** The client does not read: its connection was cut. */
  onCut(): void;
}

/**
 * Writes one event stream to a client. After the head the chunks are framed here and go to the socket at once, which
 * spares Node's own machinery for each write. No more than `maxBufferBytes` wait for a client: then it is cut.
 */
export class StreamWriter {
  readonly #response: ServerResponse;
  readonly #isFramed: boolean;
  readonly #maxBufferBytes: number;
  readonly #events: StreamWriterEvents;
  #isOpen = false;
  #isOver = false;

  constructor(response: ServerResponse, maxBufferBytes: number, events: StreamWriterEvents) {
    this.#response = response;
    // HTTP/1.0 knows no chunks: there the end of the connection is the end of the stream.
    this.#isFramed = response.req.httpVersionMinor >= 1;
    this.#maxBufferBytes = maxBufferBytes;
    this.#events = events;
  }

  /** Whether the head has been sent. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends the head with the first text. */
  open(headers: Readonly<Record<string, string>>, text: string): void {
    this.#isOpen = true;
    this.#response.socket?.setNoDelay(true);
    this.#response.writeHead(200, headers);
    this.#response.write(text);
    this.#checkBuffer();
  }

  /**
   * Sends more text. `mayBeLast`: the end may follow in this turn of the loop, and then goes with it: that spares a stream
   * two of its last three calls of the kernel.
   */
  write(text: string, mayBeLast = false): void {
    if (this.#isOver || text === "") return;
    const { socket } = this.#response;
    if (mayBeLast && socket !== null) {
      socket.cork();
      process.nextTick(uncork, socket);
    }
    // A response that waits behind an earlier one of its connection has no socket of its own yet.
    if (
      this.#isFramed &&
      socket !== null &&
      this.#response.writableLength <= socket.writableLength
    ) {
      socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
    } else {
      this.#response.write(text);
    }
    // What waits for the end of the turn does not wait for the client.
    if (!mayBeLast) this.#checkBuffer();
  }

  /** The last text, and the end of the response; the connection lives on. */
  end(text: string): void {
    this.write(text, true);
    this.#isOver = true;
    this.#response.end();
  }

  #checkBuffer(): void {
    const waiting = Math.max(
      this.#response.writableLength,
      this.#response.socket?.writableLength ?? 0,
    );
    if (waiting <= this.#maxBufferBytes || this.#isOver) return;
    this.#isOver = true;
    this.#response.destroy();
    this.#events.onCut();
  }
}

/** Does nothing if the end of a response has done it before. */
function uncork(socket: Socket): void {
  socket.uncork();
}
