import { get } from "node:http";
import { type ClusterView, createClusterView } from "@baton/cluster-view";
import { createBlockHasherFromModule } from "@baton/kv-router";
import {
  type ActorState,
  frontendFacts,
  type RouterRole,
  type ServingError,
} from "@baton/protocol";
import {
  type ActorContext,
  type ActorDefinition,
  type ActorInstance,
  type BusListener,
  type HeartbeatFacts,
  PeerWatch,
} from "@baton/runtime";
import { type FrontendConfig, frontendOptions } from "./config.ts";
import { ExplainService } from "./explain/explain-service.ts";
import { ApiServer } from "./http/api-server.ts";
import type { MetricsPage } from "./http/routes/status-routes.ts";
import { createFrontendMetrics, type FrontendMetrics } from "./metrics.ts";
import { fetchArtifact } from "./prepare/artifact-source.ts";
import { type LoadText, loadTextModel } from "./prepare/load-text-model.ts";
import { createPrepareRequest } from "./prepare/prepare-request.ts";
import { TextModels } from "./prepare/text-models.ts";
import { TextReadiness } from "./prepare/text-readiness.ts";
import { TokenizeService } from "./prepare/tokenize-service.ts";
import { createRelay } from "./relay/create-relay.ts";
import { ModelDirectory, type ServedModel } from "./relay/model-directory.ts";
import type { Relay } from "./relay/relay.ts";
import type { RequestPort } from "./relay/request-port.ts";
import { RequestTable } from "./relay/request-table.ts";
import { pictureRouters, type RouterPicture } from "./relay/router-picture.ts";
import { whyNotRead, whyNotRouted, whyNotServed } from "./relay/serving-check.ts";
import type { RequestSink } from "./request/request-sink.ts";
import type { ServingRequest } from "./request/serving-request.ts";

/** Bytes of a message beside the work: head, hashes of the prompt's blocks, ticket. */
const messageOverheadBytes = 64 * 1024;
/** Heartbeats within which every actor that lives is heard. */
const heardWithin = 4;

/** A Frontend without HTTP: what a simulator drives. */
export interface FrontendCore extends ActorInstance, RequestPort {}

/** The Frontend: the OpenAI API, and one state machine per request. */
export const frontend: ActorDefinition<FrontendConfig> = {
  role: "frontend",
  options: frontendOptions,
  create: (context, config) => new FrontendActor(context, config),
};

/** Makes a Frontend that takes its requests from `submit` and opens no port. `loadText` may share what is costly to load. */
export function createFrontendCore(
  context: ActorContext,
  config: FrontendConfig,
  loadText: LoadText = loadTextModel,
): FrontendCore {
  return new FrontendRelay(context, config, loadText);
}

/** Everything below HTTP. */
class FrontendRelay implements FrontendCore {
  readonly directory: ModelDirectory;
  readonly metrics: FrontendMetrics;
  readonly tokenizer: TokenizeService;
  readonly #context: ActorContext;
  readonly #view: ClusterView;
  readonly #relay: Relay;
  readonly #explainService: ExplainService;
  readonly #textReadiness: TextReadiness;
  readonly #routers: PeerWatch;
  readonly #routerPicture: RouterPicture;
  readonly #subscriptions: BusListener[] = [];
  #listeningSinceMs = 0;

  constructor(context: ActorContext, config: FrontendConfig, loadText: LoadText) {
    const { bus, clock, random, subjects, log } = context;
    this.#context = context;
    this.#view = createClusterView(context, { follow: { loads: true } });
    this.directory = new ModelDirectory(this.#view, (model, checksum) =>
      this.#textReadiness.why(model, checksum),
    );
    const table = new RequestTable(context.id, context.generation);
    this.metrics = createFrontendMetrics(context.metrics, () => table.live.size);
    const source = { bus, subjects, random, log, view: this.#view };
    const textModels = new TextModels(config.maxTokenizers, async (model, checksum) => {
      const bytes = await fetchArtifact(source, model, checksum, config.artifactTimeoutMs);
      return loadText(clock, bytes);
    });
    this.#textReadiness = new TextReadiness({
      textModels,
      clock,
      log,
      warmUpMs: config.warmUpMs,
      onChange: () => this.#textsChanged(),
    });
    this.tokenizer = new TokenizeService({ directory: this.directory, clock, textModels });
    const prepare = createPrepareRequest({
      textModels,
      hasher: createBlockHasherFromModule(),
      random,
      maxPromptLogprobs: config.maxPromptLogprobs,
      maxWorkBytes: () => bus.maxMessageBytes - messageOverheadBytes,
    });
    this.#routers = new PeerWatch(
      context,
      { roles: ["prefill-router", "decode-router"], asksLost: true },
      {
        onLost: ({ heartbeat: { id, role } }) =>
          this.#relay.routerLost(id as ActorContext["id"], role as RouterRole),
      },
    );
    this.#routerPicture = pictureRouters(this.#routers, (role) => this.#mayHaveRouter(role));
    this.#relay = createRelay(context, relayOptions(config), {
      view: this.#view,
      directory: this.directory,
      table,
      metrics: this.metrics,
      prepare,
      routers: this.#routerPicture,
    });
    this.#explainService = new ExplainService(context, {
      ...config,
      port: this.#relay,
      undecodable: this.metrics.undecodable,
    });
  }

  async start(): Promise<void> {
    const { bus, id, subjects } = this.#context;
    for (const fact of frontendFacts) {
      const subject = subjects.toFrontendAll(fact, id);
      this.#subscriptions.push(
        bus.subscribe(subject, ({ payload }) => this.#relay.hear(fact, payload)),
      );
    }
    this.#subscriptions.push(
      bus.onUndeliverable((key) => this.#relay.undeliverable(key)),
      bus.onState((state) => {
        if (state === "connected") this.#listeningSinceMs = this.#context.clock.nowMs();
        this.#relay.busChanged(state);
      }),
    );
    this.#view.onChange(() => this.#changed());
    this.#view.onWorkerLost((worker, why) => this.#relay.workerLost(worker, why));
    this.#view.onLoad((report) => this.#relay.loadReported(report));
    this.#routers.start();
    this.#listeningSinceMs = this.#context.clock.nowMs();
    this.#relay.start();
    this.#explainService.start();
    await this.#view.start();
    this.#changed();
  }

  submit(request: ServingRequest, sink: RequestSink) {
    return this.#relay.submit(request, sink);
  }

  explain(request: ServingRequest) {
    return this.#relay.explain(request);
  }

  /** Why a request of a model would not be served now; null if it would. */
  whyUnready(model: ServedModel): ServingError | null {
    const isRelay = model.mode === "disaggregated";
    return (
      whyNotServed(model) ??
      whyNotRouted(this.#routerPicture, model.name, isRelay) ??
      whyNotRead(model)
    );
  }

  async drain(): Promise<void> {
    await Promise.all([this.#explainService.drain(), this.#relay.drain()]);
  }

  async stop(): Promise<void> {
    this.#relay.stop();
    this.#textReadiness.stop();
    await this.#explainService.drain();
    this.#routers.stop();
    this.#view.stop();
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
  }

  /** Every actor is heard within some heartbeats of a start or a reconnect; before that nothing is known. */
  #mayHaveRouter(role: RouterRole): boolean {
    const { clock, heartbeatMs } = this.#context;
    return (
      this.#routers.peers(role).length > 0 ||
      clock.nowMs() - this.#listeningSinceMs < heardWithin * heartbeatMs
    );
  }

  #changed(): void {
    this.directory.changed();
    this.#textReadiness.follow(this.directory.all());
    this.#textsChanged();
  }

  /** Ready is who knows all models and has read the tokenizers of those there were at its start. */
  #textsChanged(): void {
    this.directory.changed();
    const why = this.#view.synced ? this.#textReadiness.waitsFor() : "no complete catalog yet";
    this.#context.setSynced(why === null, why ?? undefined);
  }
}

class FrontendActor implements ActorInstance {
  readonly #core: FrontendRelay;
  readonly #api: ApiServer;
  #state: ActorState = "starting";

  constructor(context: ActorContext, config: FrontendConfig) {
    this.#core = new FrontendRelay(context, config, loadTextModel);
    this.#api = new ApiServer(config, {
      port: this.#core,
      tokenizer: this.#core.tokenizer,
      whyUnready: (model) => this.#core.whyUnready(model),
      directory: this.#core.directory,
      clock: context.clock,
      random: context.random,
      log: context.log,
      requests: this.#core.metrics.requests,
      clientsCut: this.#core.metrics.clientsCut,
      connectionsRefused: this.#core.metrics.connectionsRefused,
      metricsPage: metricsPageOf(context.identity.admin),
      whyNotServing: () => (this.#state === "ready" ? null : this.#state),
    });
  }

  async start(): Promise<void> {
    await this.#core.start();
    await this.#api.start();
  }

  onState(state: ActorState): void {
    this.#state = state;
  }

  heartbeat(): HeartbeatFacts {
    const { url } = this.#api;
    return url === null ? {} : { api: url };
  }

  drain(): Promise<void> {
    return this.#core.drain();
  }

  async stop(): Promise<void> {
    await this.#core.stop();
    await this.#api.stop();
  }
}

/** The admin port holds the process's figures; the API port shows the same page. */
function metricsPageOf(admin: string | null): MetricsPage | null {
  if (admin === null) return null;
  return {
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    text: () =>
      new Promise((resolve, reject) => {
        get(`${admin}/metrics`, (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (piece: string) => {
            text += piece;
          });
          response.on("end", () => resolve(text));
        }).on("error", reject);
      }),
  };
}

function relayOptions(config: FrontendConfig) {
  return {
    ...config,
    deadlines: {
      preparing: config.preparingMs,
      "prefill.queued": config.prefillQueuedMs,
      "prefill.running": config.prefillRunningMs,
      "decode.routing": config.decodeRoutingMs,
      handoff: config.handoffMs,
      "decode.queued": config.decodeQueuedMs,
      "decode.running": config.decodeRunningMs,
      "decode.streaming": config.tokenGapMs,
    },
  } as const;
}
