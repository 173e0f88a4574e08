import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ServingError } from "@baton/protocol";
import { listenProblem } from "./listen-problem.ts";
import type { RunningActor } from "./running-actor.ts";

/** What an admin server serves. */
export interface AdminServerOptions {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>;
  /** More fields of `/status`, e.g. `models`. */
  readonly status?: () => Promise<Readonly<Record<string, unknown>>>;
}

/** Answers one path of an admin server. */
export type AdminHandler = (url: URL, response: ServerResponse) => void | Promise<void>;

/** Answers a body that was posted to one path of an admin server. */
export type AdminPostHandler = (body: Uint8Array, response: ServerResponse) => void | Promise<void>;

/** The admin port of a process: health, readiness and figures of all its actors. */
export interface AdminServer {
  /** `http://HOST:PORT`. */
  readonly url: string;
  readonly port: number;
  /** Shows an actor from here on. The process is ready when all that are shown are. */
  add(actor: RunningActor): void;
  /** Shows it no more. */
  remove(actor: RunningActor): void;
  /** Serves one more path by GET. */
  handle(path: string, handler: AdminHandler): void;
  /** Serves one more path by POST, bodies up to `maxPostBytes`. */
  handlePost(path: string, handler: AdminPostHandler): void;
  /** Closes the port and every connection to it. */
  close(): Promise<void>;
}

/** Largest body of a POST to an admin port. */
export const maxPostBytes = 16 * 1024 * 1024;
const textType = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Opens an admin port: `/livez`, `/readyz` (200, or 503 with why), `/metrics`, `/status`. Rejects with
 * `config_invalid` if it cannot listen there.
 */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const admin = new HttpAdmin(options);
  await admin.listen();
  return admin;
}

class HttpAdmin implements AdminServer {
  port: number;
  readonly #options: AdminServerOptions;
  readonly #server: Server;
  readonly #actors = new Set<RunningActor>();
  readonly #handlers = new Map<string, AdminHandler>();
  readonly #postHandlers = new Map<string, AdminPostHandler>();

  constructor(options: AdminServerOptions) {
    this.#options = options;
    this.port = options.port;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.handle("/livez", (_url, response) => sendJson(response, 200, { live: true }));
    this.handle("/readyz", (_url, response) => this.#readyz(response));
    this.handle("/metrics", async (_url, response) =>
      send(response, 200, textType, await options.metrics()),
    );
    this.handle("/status", (_url, response) => this.#status(response));
  }

  get url(): string {
    const host = this.#options.host;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.port}`;
  }

  add(actor: RunningActor): void {
    this.#actors.add(actor);
  }

  remove(actor: RunningActor): void {
    this.#actors.delete(actor);
  }

  handle(path: string, handler: AdminHandler): void {
    this.#handlers.set(path, handler);
  }

  handlePost(path: string, handler: AdminPostHandler): void {
    this.#postHandlers.set(path, handler);
  }

  listen(): Promise<void> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", (error) => {
        const problem = `--admin-port: ${listenProblem(`${host}:${port}`, error)}`;
        reject(new ServingError("config_invalid", { problem }, { cause: error }));
      });
      this.#server.listen(port, host, () => {
        this.port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://admin");
    const handler = this.#handlers.get(url.pathname);
    const postHandler = this.#postHandlers.get(url.pathname);
    try {
      if (handler !== undefined && (request.method === "GET" || request.method === "HEAD")) {
        await handler(url, response);
      } else if (postHandler !== undefined && request.method === "POST") {
        await post(request, response, postHandler);
      } else if (handler === undefined && postHandler === undefined) {
        sendJson(response, 404, { error: "no such path" });
      } else {
        const method = handler === undefined ? "POST" : "GET";
        sendJson(response, 405, { error: `only ${method} is served here` });
      }
    } catch (error) {
      const failure = ServingError.from(error);
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: failure.message, code: failure.code });
    }
  }

  #readyz(response: ServerResponse): void {
    const actors = [...this.#actors].map(({ role, id, state, why }) => ({ role, id, state, why }));
    const waiting = actors.filter((actor) => actor.state !== "ready");
    const isReady = waiting.length === 0 && actors.length > 0;
    const why = actors.length === 0 ? "no actor has started" : describe(waiting);
    sendJson(response, isReady ? 200 : 503, { ready: isReady, why: isReady ? null : why, actors });
  }

  async #status(response: ServerResponse): Promise<void> {
    const more = (await this.#options.status?.()) ?? {};
    sendJson(response, 200, { actors: [...this.#actors].map(statusRow), ...more });
  }
}

async function post(
  request: IncomingMessage,
  response: ServerResponse,
  handler: AdminPostHandler,
): Promise<void> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    // What is too much is read all the same, or its sender would not read the answer.
    if (bytes <= maxPostBytes) pieces.push(piece);
  }
  if (bytes > maxPostBytes) {
    return sendJson(response, 413, { error: `the body is over ${maxPostBytes} bytes` });
  }
  await handler(Buffer.concat(pieces), response);
}

function describe(
  actors: readonly { readonly role: string; readonly id: string; readonly why: string | null }[],
): string {
  return actors.map(({ role, id, why }) => `${role} ${id}: ${why ?? "not ready"}`).join("; ");
}

/** An actor as `baton status --json` shows it. */
function statusRow(actor: RunningActor): Readonly<Record<string, unknown>> {
  const beat = actor.heartbeat();
  return {
    id: beat.id,
    role: beat.role,
    state: beat.state,
    why: beat.why,
    pid: beat.pid,
    host: beat.host,
    admin: beat.admin,
    namespace: beat.namespace,
    ...(beat.model === null ? {} : { model: beat.model }),
    ...(beat.workerType === null ? {} : { worker_type: beat.workerType }),
    ...(beat.set === null ? {} : { set: beat.set }),
    generation: beat.generation,
  };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, "application/json; charset=utf-8", `${JSON.stringify(body)}\n`);
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  const bytes = Buffer.from(text);
  response.writeHead(status, { "content-type": type, "content-length": bytes.length });
  response.end(bytes);
}
