import { connect, type Socket } from "node:net";
import type { ServingError, Why } from "@baton/protocol";
import { createLogger, RealClock, SeededRandom } from "@baton/runtime";
import { ApiServer, type ApiServerOptions } from "../../src/http/api-server.ts";
import { defaultBodyLimits } from "../../src/http/body-limits.ts";
import { TextModels } from "../../src/prepare/text-models.ts";
import { TokenizeService } from "../../src/prepare/tokenize-service.ts";
import { ModelDirectory } from "../../src/relay/model-directory.ts";
import { whyNotServed } from "../../src/relay/serving-check.ts";
import { FakePort } from "./fake-port.ts";
import { fakeTextModel } from "./fake-text-model.ts";
import { FakeView, type WorkerSpec } from "./fake-view.ts";
import { pair } from "./relay-rig.ts";

/** An API on a free port of this machine, above a port that the test answers for. */
export class ApiRig {
  readonly port = new FakePort();
  readonly view: FakeView;
  readonly directory: ModelDirectory;
  readonly counted: string[] = [];
  /** Warnings and errors. */
  readonly logged: string[] = [];
  readonly server: ApiServer;
  url = "";
  why: string | null = null;
  /** What the relay says beside what the directory knows. */
  unready: ServingError | null = null;
  /** What the text models say. */
  textWhy: Why | null = null;
  cut = 0;
  connectionsRefused = 0;

  constructor(options: Partial<ApiServerOptions> = {}, workers: readonly WorkerSpec[] = pair) {
    this.view = new FakeView(workers);
    const clock = new RealClock();
    const directory = new ModelDirectory(this.view, () => this.textWhy);
    this.directory = directory;
    const textModels = new TextModels(1, () => Promise.resolve(fakeTextModel));
    this.server = new ApiServer(
      {
        ...defaultBodyLimits,
        host: "127.0.0.1",
        port: 0,
        maxBodyBytes: 10_000,
        clientBufferBytes: 100_000,
        overloadStatus: 529,
        receiveTimeoutMs: 60_000,
        headersTimeoutMs: 60_000,
        sendTimeoutMs: 60_000,
        keepAliveMs: 60_000,
        maxConnections: 1_000,
        maxReceivingBytes: 100_000_000,
        corsOrigins: [],
        maxInFlight: 100,
        ...options,
      },
      {
        port: this.port,
        tokenizer: new TokenizeService({ clock, directory, textModels }),
        whyUnready: (model) => this.unready ?? whyNotServed(model),
        directory,
        clock,
        random: new SeededRandom("api"),
        log: createLogger({
          level: "warn",
          destination: { write: (line) => this.logged.push(JSON.parse(line).msg) },
        }),
        requests: { add: (_amount, labels) => this.counted.push(labels?.code ?? "") },
        clientsCut: {
          add: () => {
            this.cut += 1;
          },
        },
        connectionsRefused: {
          add: () => {
            this.connectionsRefused += 1;
          },
        },
        metricsPage: { text: () => Promise.resolve("figures 1\n"), contentType: "text/plain" },
        whyNotServing: () => this.why,
      },
    );
  }

  async start(): Promise<this> {
    this.url = await this.server.start();
    return this;
  }

  post(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...init,
    });
  }

  chat(changes: object = {}): Promise<Response> {
    return this.post("/v1/chat/completions", { ...chatBody, ...changes });
  }

  /** A connection that a test writes to by itself. */
  socket(): Socket {
    return connect(Number(new URL(this.url).port), "127.0.0.1");
  }
}

export const chatBody = { model: "m", messages: [{ role: "user", content: "Hi" }] };

/** The events of a stream, as `[event, data]`. */
export function eventsOf(stream: string): (readonly [event: string, data: string])[] {
  return stream
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      const lines = block.split("\n");
      const event = lines.find((line) => line.startsWith("event: "))?.slice(7) ?? "message";
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6) ?? "";
      return [event, data];
    });
}
