import { createHash } from "node:crypto";
import {
  ChunkJoiner,
  Decode,
  Generate,
  Prefill,
  Queued,
  type RequestState,
  RequestTransitions,
  RouteDecode,
  RoutePrefill,
  subjectRow,
  TokenFrame,
} from "@baton/protocol";
import type { ObservedMessage } from "@baton/runtime";
import { KvPicture } from "./kv-picture.ts";
import { noiseByte } from "./plan.ts";
import type { SimClient } from "./sim-client.ts";

interface Legs {
  /** The router that holds it in its queue. */
  queuedAt: string | null;
  /** The newest that the bus has told. */
  state: RequestState;
  /** Where it was dispatched to. */
  readonly workers: string[];
  prefillRack: string | null;
  prefills: number;
  decodes: number;
  ends: number;
}

/** What a watch knows of its run. */
export interface WatchOptions {
  /** Racks of workers that stand in one, by id. */
  readonly racks: ReadonlyMap<string, string>;
  /** Whose messages are seen when they reach the bus, perhaps long after they were sent. */
  readonly lateSenders: ReadonlySet<string>;
  /** How long after a request's end something of it may still be sent, in ms. */
  readonly dropBoundMs: number;
  /** How long after its Frontend's death something of a request may still be sent, in ms. */
  readonly orphanBoundMs: number;
}

/** Whom a watch tells what it hears. */
export interface WatchEvents {
  report(problem: string): void;
  onState(requestId: string, state: RequestState): void;
  /** A ticket is on its way to a worker. */
  onTicket(requestId: string, handoff: Uint8Array): void;
}

/** Two heartbeats: who has lived so long beside somebody has heard of it. */
const acquaintanceMs = 500;
const joinedBytes = 16 * 1024 * 1024;

/** Hears every message of a run: its digest, and what no message may say. */
export class BusWatch {
  readonly picture: KvPicture;
  messages = 0;
  /** Dispatches that reached a worker, over all requests. */
  prefillsSent = 0;
  decodesSent = 0;
  readonly #digest = createHash("sha256");
  readonly #joiner = new ChunkJoiner({
    maxMessageBytes: joinedBytes,
    maxHeldBytes: joinedBytes,
    staleMs: 60_000,
  });
  readonly #clients: ReadonlyMap<string, SimClient>;
  readonly #events: WatchEvents;
  readonly #legs = new Map<string, Legs>();
  /** Who has which stream of a Frontend's life. */
  readonly #streams = new Map<string, SimClient>();

  readonly #options: WatchOptions;

  constructor(clients: ReadonlyMap<string, SimClient>, options: WatchOptions, events: WatchEvents) {
    this.#clients = clients;
    this.#options = options;
    this.#events = events;
    this.picture = new KvPicture((problem) => this.#report(problem));
  }

  /** Over every message: time, sender, subject, reply, receivers and payload, in order. */
  get digest(): string {
    return this.#digest.copy().digest("hex");
  }

  /** The router in whose queue a request is or ended; null if it has none, or was dispatched. */
  queuedAt(requestId: string): string | null {
    return this.#legs.get(requestId)?.queuedAt ?? null;
  }

  /** The newest state of a request that the bus has told. */
  stateOf(requestId: string): RequestState {
    return this.#legs.get(requestId)?.state ?? "received";
  }

  /** The workers that a request was dispatched to. */
  workersOf(requestId: string): readonly string[] {
    return this.#legs.get(requestId)?.workers ?? [];
  }

  hear(message: ObservedMessage): void {
    const { atMs, from, subject, reply, receivers, chunk, payload } = message;
    const part = chunk === null ? "" : `${chunk.index}/${chunk.count}`;
    this.messages += 1;
    this.#digest.update(`\n${atMs} ${from} ${subject} ${reply} ${receivers} ${part} `);
    this.#digest.update(payload);
    const name = subjectRow(subject)?.message?.name;
    if (name === undefined) return;
    const whole = chunk === null ? payload : this.#joiner.add(chunk, payload, reply, atMs)?.payload;
    if (whole === undefined || whole[0] === noiseByte) return;
    // Who only asks for a route sends the same message as who takes it.
    if (subject.endsWith(".explain-route")) return;
    this.#read(name, whole, message);
  }

  #read(name: string, payload: Uint8Array, message: ObservedMessage): void {
    const { atMs, from } = message;
    switch (name) {
      case "queued": {
        const { requestId, routerId } = Queued.decode(payload);
        this.#legsOf(requestId).queuedAt = routerId;
        return;
      }
      case "route-prefill":
        this.#onRoute(RoutePrefill.decode(payload), atMs, from);
        return;
      case "route-decode":
        this.#onRoute(RouteDecode.decode(payload), atMs, from);
        return;
      case "prefill":
        this.#onDispatch("prefill", Prefill.decode(payload).requestId, message);
        return;
      case "decode": {
        const { handoff, requestId } = Decode.decode(payload);
        this.#onDispatch("decode", requestId, message);
        this.#events.onTicket(requestId, handoff);
        return;
      }
      case "generate":
        this.#onDispatch("decode", Generate.decode(payload).requestId, message);
        return;
      case "token-frame":
        this.#onFrame(TokenFrame.decode(payload), message);
        return;
      case "request-transitions":
        this.#onTransitions(RequestTransitions.decode(payload));
        return;
      case "kv-feed":
        this.picture.take(payload);
        return;
      default:
        return;
    }
  }

  #onRoute(
    head: { requestId: string; frontendId: string; frontendGeneration: number; stream: number },
    atMs: number,
    from: string,
  ): void {
    const client = this.#clients.get(head.requestId);
    if (client === undefined) {
      this.#report(`${from} routes ${head.requestId}, which nobody sent`);
      return;
    }
    this.#streams.set(`${head.frontendId}/${head.frontendGeneration}/${head.stream}`, client);
    if (client.end !== null && !this.#options.lateSenders.has(from)) {
      this.#report(`${head.requestId} is routed at ${atMs}, after its end at ${client.endedAtMs}`);
    }
  }

  #onDispatch(
    leg: "prefill" | "decode",
    requestId: string,
    { atMs, receivers, subject }: ObservedMessage,
  ): void {
    const legs = this.#legsOf(requestId);
    legs.queuedAt = null;
    this.#checkNotOver(requestId, atMs, `${leg} is dispatched`);
    const workerId = subject.slice(subject.lastIndexOf(".") + 1);
    legs.workers.push(workerId);
    const rack = this.#options.racks.get(workerId) ?? null;
    if (leg === "prefill") {
      legs.prefills += 1;
      legs.prefillRack = rack;
    } else {
      legs.decodes += 1;
      if (legs.prefills > 0 && legs.prefillRack !== rack) {
        this.#report(`${requestId} is to move its KV from rack ${legs.prefillRack} to ${rack}`);
      }
    }
    if (legs.prefills > 1 || legs.decodes > 1) this.#report(`${requestId} is dispatched twice`);
    if (receivers === 0) return;
    if (leg === "prefill") this.prefillsSent += 1;
    else this.decodesSent += 1;
  }

  /** Every token on the bus must be of the text of the request whose stream it is on. */
  #onFrame(frame: TokenFrame, { atMs, subject }: ObservedMessage): void {
    const frontendId = subject.slice(subject.lastIndexOf(".") + 1);
    for (const { stream, choice, offset, tokens } of frame.entries) {
      const client = this.#streams.get(`${frontendId}/${frame.frontendGeneration}/${stream}`);
      if (client === undefined) {
        this.#report(`${frame.workerId} sends tokens on stream ${stream}, which is nobody's`);
        continue;
      }
      this.#checkNotOver(client.requestId, atMs, `${frame.workerId} sends tokens`);
      const diedAtMs = client.frontend?.diedAtMs ?? null;
      // A generation is a start in epoch ms: who started just before may never have heard the Frontend.
      const hadHeard = diedAtMs !== null && frame.generation < diedAtMs - acquaintanceMs;
      if (hadHeard && atMs - diedAtMs > this.#options.orphanBoundMs) {
        const afterMs = Math.round(atMs - diedAtMs);
        this.#report(`${frame.workerId} works for a Frontend that died ${afterMs} ms ago`);
      }
      const text = String.fromCharCode(...tokens);
      const wanted = client.expected.generated[choice]?.slice(offset, offset + tokens.length);
      if (text !== wanted) {
        this.#report(
          `${frame.workerId} sends ${client.requestId} ${JSON.stringify(text)} at ${offset}, not ${JSON.stringify(wanted)}`,
        );
      }
    }
  }

  /** Where nothing but clients goes away, routers and workers drop at once what has ended. */
  #checkNotOver(requestId: string, atMs: number, what: string): void {
    const endedAtMs = this.#clients.get(requestId)?.endedAtMs ?? null;
    if (endedAtMs === null || atMs - endedAtMs <= this.#options.dropBoundMs) return;
    this.#report(`${requestId}: ${what} ${Math.round(atMs - endedAtMs)} ms after its end`);
  }

  #onTransitions({ transitions }: RequestTransitions): void {
    for (const [requestId, state] of transitions) {
      this.#legsOf(requestId).state = state;
      this.#events.onState(requestId, state);
      if (state !== "completed" && state !== "failed" && state !== "cancelled") continue;
      const legs = this.#legsOf(requestId);
      legs.ends += 1;
      if (legs.ends > 1) this.#report(`${requestId} ends twice on the bus`);
    }
  }

  #report(problem: string): void {
    this.#events.report(problem);
  }

  #legsOf(requestId: string): Legs {
    const known = this.#legs.get(requestId);
    if (known !== undefined) return known;
    const legs: Legs = {
      queuedAt: null,
      state: "received",
      workers: [],
      prefillRack: null,
      prefills: 0,
      decodes: 0,
      ends: 0,
    };
    this.#legs.set(requestId, legs);
    return legs;
  }
}
