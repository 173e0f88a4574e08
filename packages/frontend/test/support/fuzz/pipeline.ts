import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type RawAnswer, readAnswer } from "../raw-client.ts";

/** Sends many requests over one connection, several at a time, and gives each its answer. */
export class Pipeline {
  readonly #socket: Socket;
  readonly #window: number;
  readonly #onAnswer: (at: number, answer: RawAnswer) => void;
  #heard = "";
  #asked = 0;
  #answered = 0;
  #wake: (() => void) | null = null;
  #error: Error | null = null;

  private constructor(
    socket: Socket,
    window: number,
    onAnswer: (at: number, answer: RawAnswer) => void,
  ) {
    this.#socket = socket;
    this.#window = window;
    this.#onAnswer = onAnswer;
    socket.setEncoding("latin1").on("data", (piece: string) => this.#hear(piece));
    socket.on("close", () => this.#fail(new Error(`closed after ${this.#answered} answers`)));
    socket.on("error", (error) => this.#fail(error));
  }

  /** `onAnswer` gets each answer with the number of its request, in the order of both. */
  static async open(
    url: string,
    window: number,
    onAnswer: (at: number, answer: RawAnswer) => void,
  ): Promise<Pipeline> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    return new Pipeline(socket, window, onAnswer);
  }

  /** Sends one more, once there is room for it. Rejects if the connection ends. */
  async send(request: Buffer): Promise<void> {
    this.#socket.write(request);
    this.#asked += 1;
    await this.#until(() => this.#asked - this.#answered < this.#window);
  }

  /** Waits for the last answer. */
  async finish(): Promise<void> {
    await this.#until(() => this.#asked === this.#answered);
    this.#socket.destroy();
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.#error !== null) throw this.#error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #hear(piece: string): void {
    this.#heard += piece;
    let at = 0;
    for (;;) {
      const read = readAnswer(this.#heard, at);
      if (read === null) break;
      at = read.end;
      this.#onAnswer(this.#answered, read.answer);
      this.#answered += 1;
    }
    this.#heard = this.#heard.slice(at);
    this.#wake?.();
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
  }
}
