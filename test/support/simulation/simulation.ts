import { createBlockHasherFromModule } from "@baton/kv-router";
import { subjectTable } from "@baton/protocol";
import type { ObservedMessage } from "@baton/runtime";
import type { EngineFactory } from "@baton/worker";
import { BusWatch } from "./bus-watch.ts";
import {
  checkHandlerErrors,
  checkHandoffs,
  checkRefusals,
  checkStarted,
  indexDifferences,
  kvDifferences,
  whatIsHeld,
} from "./end-checks.ts";
import { FaultInjector } from "./fault-injector.ts";
import { KvThief } from "./kv-thief.ts";
import { checkOutage } from "./outage-checks.ts";
import { noiseByte, type PlannedRequest, type SimulationPlan } from "./plan.ts";
import { describeEnd, mayFailInCalm } from "./request-end.ts";
import { outcomeOf, type RequestOutcome } from "./request-outcome.ts";
import { SimClient } from "./sim-client.ts";
import { requestBoundMs, SimCluster, simBlockSize } from "./sim-cluster.ts";
import { type PromptHashes, Visitor, visitorId } from "./visitor.ts";

/** What a run may be asked to show. */
export interface SimOptions {
  /** Told of every message and every fault, as they happen. */
  readonly onMessage?: (message: ObservedMessage) => void;
  readonly onNote?: (atMs: number, note: string) => void;
  /** Told what became of each request, when all is over. */
  readonly onOutcome?: (outcome: RequestOutcome) => void;
  /** Another engine than the mock. */
  readonly engine?: EngineFactory;
}

/** What happened in a run, in figures. */
export interface SeedStats {
  readonly temper: string;
  readonly requests: number;
  readonly completed: number;
  readonly cancelled: number;
  /** Failed requests by code. */
  readonly failed: Readonly<Record<string, number>>;
  /** Completed requests by mode. */
  readonly modes: Readonly<Record<string, number>>;
  readonly faults: number;
  /** Faults by what they were and the state of a request that they met. */
  readonly hits: Readonly<Record<string, number>>;
  readonly messages: number;
  readonly virtualMs: number;
}

const readyBoundMs = 12_000;
/** What is held without a request is let go within a lease, and what follows from it. */
const restBoundMs = 10_000;
/** A client that has left is known to have left within this time. */
const cancelBoundMs = 500;
/** Two heartbeats and a request for a catalog that was missed. */
const getToKnowMs = 600;
/** Where nothing but clients goes away, everything is let go at once. */
const peacefulRestMs = 800;
/** A killed worker is seen within this time. */
const deathSeenMs = 1_000;
/** A Frontend gives everybody so long to be heard, from its start on. */
const firstHeardMs = 1_300;
/** A killed Frontend is seen within this time. */
const orphanSeenMs = 1_300;
const leaveBoundMs = 10_000;
const maxViolations = 20;
const leftToTheElder = /worker\.kv\.changed|kv-event-aggregator\.get-kv-history/;
const askedPrompts = 3;
const hasher = createBlockHasherFromModule();

/** One run: a cluster, its clients, its trouble, and what is checked when it is over. */
export class Simulation {
  readonly violations: string[] = [];
  readonly #plan: SimulationPlan;
  readonly #cluster: SimCluster;
  readonly #watch: BusWatch;
  readonly #visitor: Visitor;
  readonly #thief: KvThief;
  readonly #faults: FaultInjector;
  readonly #clients = new Map<string, SimClient>();
  readonly #options: SimOptions;
  readonly #startMs: number;
  #isHealed = false;
  #isTroubleOver = false;
  #troubleStartMs = 0;
  /** Deliveries of what is no message. */
  #noiseHeard = 0;

  constructor(plan: SimulationPlan, engine: EngineFactory, options: SimOptions) {
    this.#plan = plan;
    this.#options = options;
    this.#cluster = new SimCluster(plan, engine);
    this.#startMs = this.#cluster.clock.nowMs();
    const racks = plan.actors.flatMap(({ id, rack }) =>
      rack === null ? [] : [[id, rack] as const],
    );
    const bounds = {
      racks: new Map(racks),
      lateSenders: this.#cluster.lateSenders,
      dropBoundMs: dropBoundMs(plan),
      orphanBoundMs: orphanBoundMs(plan),
    };
    this.#thief = new KvThief(this.#cluster, (text) => this.#report(text));
    this.#watch = new BusWatch(this.#clients, bounds, {
      report: (text) => this.#report(text),
      onState: (requestId, state) => {
        this.#clients.get(requestId)?.sawState(state);
        this.#thief.onState(requestId, state);
        this.#faults.onState(requestId, state);
      },
      onTicket: (requestId, handoff) => this.#thief.onTicket(requestId, handoff),
    });
    this.#cluster.network.observe((message) => this.#hear(message));
    this.#visitor = new Visitor(this.#cluster);
    this.#faults = new FaultInjector({
      cluster: this.#cluster,
      visitor: this.#visitor,
      thief: this.#thief,
      watch: this.#watch,
      clients: this.#clients,
      note: (text) => this.#note(text),
      isHealed: () => this.#isHealed,
      isOver: () => this.#isTroubleOver,
    });
  }

  get digest(): string {
    return this.#watch.digest;
  }

  async run(): Promise<void> {
    await this.#begin();
    await this.#trouble();
    await this.#rest();
    await this.#serveAgain();
    if (this.#plan.endsWithGarbage) await this.#babble();
    await this.#leave();
    this.#checkClients();
    checkHandlerErrors(this.#cluster, (problem) => this.#report(problem));
    checkStarted(this.#cluster, this.#watch, (problem) => this.#report(problem));
    checkRefusals(this.#cluster, this.#thief, (problem) => this.#report(problem));
    for (const client of this.#clients.values()) {
      const workers = this.#watch.workersOf(client.requestId);
      this.#options.onOutcome?.(outcomeOf(client, workers));
    }
    const trouble = { plan: this.#plan, startMs: this.#troubleStartMs, clients: this.#clients };
    checkOutage(trouble, (problem) => this.#report(problem));
  }

  stats(): SeedStats {
    const failed: Record<string, number> = {};
    const modes: Record<string, number> = {};
    let completed = 0;
    let cancelled = 0;
    for (const { end } of this.#clients.values()) {
      if (end?.kind === "completed") {
        completed += 1;
        count(modes, end.summary.mode ?? "none");
      } else if (end?.kind === "cancelled") cancelled += 1;
      else if (end?.kind === "failed") count(failed, end.error.code);
    }
    return {
      temper: this.#plan.temper,
      requests: this.#clients.size,
      completed,
      cancelled,
      failed,
      modes,
      faults: this.#plan.faults.length,
      hits: this.#faults.hits,
      messages: this.#watch.messages,
      virtualMs: this.#cluster.clock.nowMs() - this.#startMs,
    };
  }

  async #begin(): Promise<void> {
    const { clock } = this.#cluster;
    for (const actor of this.#plan.actors) {
      clock.setTimer(actor.startsAtMs, () => this.#cluster.start(actor));
    }
    if (!this.#plan.waitsForReady) return;
    await clock.advanceBy(500);
    await this.#untilAllReady("at the start");
  }

  async #trouble(): Promise<void> {
    const { clock } = this.#cluster;
    this.#note("trouble begins");
    this.#troubleStartMs = clock.nowMs();
    for (const [index, planned] of this.#plan.requests.entries()) {
      this.#sendLater(`r-${index}`, planned);
    }
    for (const fault of this.#plan.faults) {
      clock.setTimer(fault.atMs, () => this.#faults.begin(fault));
    }
    await clock.advanceBy(this.#plan.troubleMs + 1);
  }

  /** Everything that can go on goes on. What was asked for ends, and nothing stays held. */
  async #rest(): Promise<void> {
    this.#note("trouble is over");
    this.#isHealed = true;
    this.#cluster.heal();
    const isOpen = (client: SimClient) => client.isOpen;
    await this.#until(() => ![...this.#clients.values()].some(isOpen), requestBoundMs);
    for (const client of this.#clients.values()) {
      if (!client.isOpen) continue;
      const ms = this.#cluster.clock.nowMs() - (client.submittedAtMs ?? 0);
      this.#report(`${client.requestId} has no end ${Math.round(ms)} ms after it came`);
    }
    await this.#untilNothingHeld("after the trouble");
    const mayExpire = lossyTempers.has(this.#plan.temper);
    checkHandoffs(this.#cluster, mayExpire, (problem) => this.#report(problem));
  }

  /** With every actor there again, the cluster serves as if nothing had been. */
  async #serveAgain(): Promise<void> {
    this.#isTroubleOver = true;
    for (const { id } of this.#plan.actors) this.#cluster.restart(id);
    if (!(await this.#untilAllReady("when all came back"))) return;
    // Who is ready knows its catalog; that others are ready too, it hears with their next life signs.
    await this.#cluster.clock.advanceBy(getToKnowMs);
    const names = this.#plan.finalRequests.map((planned, index) => {
      this.#sendLater(`final-${index}`, planned);
      return `final-${index}`;
    });
    const ends = () => names.map((name) => this.#clients.get(name)?.end ?? null);
    await this.#until(() => !ends().includes(null), requestBoundMs, 20);
    for (const [index, end] of ends().entries()) {
      if (end?.kind !== "completed") {
        this.#report(`final-${index} is not served by the whole cluster: ${describeEnd(end)}`);
      }
    }
    await this.#untilNothingHeld("after the last requests");
    for (const difference of await this.#kvDifferences()) this.#report(difference);
    for (const prompt of promptsOf(this.#plan)) {
      for (const difference of await this.#indexDifferences(prompt)) this.#report(difference);
    }
  }

  /** Asks until the picture is right, within bounds: workers that are back may have to be asked first. */
  async #kvDifferences(): Promise<readonly string[]> {
    const { clock } = this.#cluster;
    const untilMs = clock.nowMs() + restBoundMs;
    for (;;) {
      let differences: readonly string[] | null = null;
      this.#visitor.askForDumps().then(
        (dumps) => {
          differences = kvDifferences(this.#cluster, this.#watch, dumps);
        },
        (error: unknown) => {
          differences = [`no dumps: ${String(error)}`];
        },
      );
      await this.#until(() => differences !== null, restBoundMs);
      const found: readonly string[] = differences ?? ["no answer to a request for dumps"];
      if (found.length === 0 || clock.nowMs() >= untilMs) return found;
      await clock.advanceBy(500);
    }
  }

  /** Asks until routers credit each worker with what it holds of a prompt. Not where they credit it with what will come. */
  async #indexDifferences(prompt: PromptHashes): Promise<readonly string[]> {
    if (this.#plan.shape.predictsOnRoute) return [];
    const { clock } = this.#cluster;
    const untilMs = clock.nowMs() + restBoundMs;
    for (;;) {
      let differences: readonly string[] | null = null;
      this.#visitor.askForRoutes(prompt).then(
        (routes) => {
          differences = indexDifferences(this.#cluster, prompt.sequenceHashes, routes);
        },
        (error: unknown) => {
          differences = [`no route: ${String(error)}`];
        },
      );
      await this.#until(() => differences !== null, restBoundMs);
      const found: readonly string[] = differences ?? ["no answer to a request for a route"];
      if (found.length === 0 || clock.nowMs() >= untilMs) return found;
      await clock.advanceBy(500);
    }
  }

  /** What cannot be decoded raises a counter wherever it is heard. */
  async #babble(): Promise<void> {
    const { hasSpareAggregator } = this.#plan.shape;
    for (const [row, { pattern }] of subjectTable.entries()) {
      const before = this.#malformed();
      const heardBefore = this.#noiseHeard;
      this.#visitor.sayOn(row, Uint8Array.of(noiseByte, 1, 2, 3));
      await this.#cluster.clock.advanceBy(2 * this.#plan.shape.maxDelayMs + 1);
      const counted = this.#malformed() - before;
      const heard = this.#noiseHeard - heardBefore;
      // An aggregator that does not speak opens no events, and leaves questions to the one that does.
      const unread = hasSpareAggregator && leftToTheElder.test(pattern) ? heard / 2 : 0;
      if (counted < heard - unread) {
        this.#report(`${heard} heard noise on ${pattern}, ${counted} counted it`);
      }
    }
  }

  /** Everybody leaves, and nothing is left behind: no actor, no timer. */
  async #leave(): Promise<void> {
    this.#note("everybody leaves");
    const { clock } = this.#cluster;
    for (const { id } of this.#cluster.living()) this.#cluster.drain(id);
    await this.#visitor.leave();
    await this.#until(() => this.#cluster.living().length === 0, leaveBoundMs);
    for (const { id, actor } of this.#cluster.living()) {
      this.#report(`${id} does not leave: it is ${actor.state}`);
    }
    await this.#until(() => clock.pendingTimers === 0, leaveBoundMs);
    if (clock.pendingTimers > 0) this.#report(`${clock.pendingTimers} timers are left behind`);
  }

  #checkClients(): void {
    const isCalm = isPeaceful(this.#plan);
    for (const client of this.#clients.values()) {
      for (const problem of client.problems) this.#report(problem);
      const { end, endedAtMs, leftAtMs, requestId } = client;
      if (leftAtMs !== null && endedAtMs !== null && endedAtMs - leftAtMs > cancelBoundMs) {
        this.#report(`${requestId} ends ${endedAtMs - leftAtMs} ms after its client left`);
      }
      if (this.#plan.temper === "deaths") this.#checkDeathSeen(client);
      if (isCalm && end?.kind === "failed" && !mayFailInCalm(this.#plan, end.error.code)) {
        this.#report(`${requestId} fails although nothing went wrong: ${describeEnd(end)}`);
      }
    }
  }

  /** A request whose worker is killed ends soon after, if its Frontend lives. */
  #checkDeathSeen({ end, endedAtMs, frontend, requestId, submittedAtMs }: SimClient): void {
    if (end?.kind !== "failed" || endedAtMs === null || frontend?.phase === "dead") return;
    const boundMs = deathSeenMs + 4 * this.#plan.shape.maxDelayMs;
    const acquaintedAtMs = (frontend?.actor.generation ?? 0) + firstHeardMs;
    for (const { diedAtMs, id } of this.#cluster.processes) {
      if (diedAtMs === null || diedAtMs < (submittedAtMs ?? 0) || diedAtMs > endedAtMs) continue;
      const last = end.summary?.decodeWorker ?? end.summary?.prefillWorker ?? null;
      const hadIt = last === id || this.#watch.queuedAt(requestId) === id;
      if (hadIt && endedAtMs > Math.max(diedAtMs + boundMs, acquaintedAtMs)) {
        const afterMs = Math.round(endedAtMs - diedAtMs);
        this.#report(`${requestId} ends ${afterMs} ms after ${id} was killed: ${describeEnd(end)}`);
      }
    }
  }

  #sendLater(name: string, planned: PlannedRequest): void {
    const { clock } = this.#cluster;
    const client = new SimClient(name, planned, {
      nowMs: () => clock.nowMs(),
      onLeave: (leaving) => this.#faults.left(leaving),
    });
    this.#clients.set(name, client);
    clock.setTimer(planned.atMs, () => {
      client.comeTo(this.#cluster.process(`fe-${planned.frontend + 1}`));
    });
  }

  async #untilAllReady(when: string): Promise<boolean> {
    const waiting = () => this.#cluster.living().filter(({ actor }) => actor.state !== "ready");
    const isReady = () =>
      this.#cluster.living().length === this.#plan.actors.length && waiting().length === 0;
    if (await this.#until(isReady, readyBoundMs)) return true;
    for (const { actor, id } of waiting()) {
      this.#report(`${id} is ${actor.state} ${when}: ${actor.why}`);
    }
    return false;
  }

  async #untilNothingHeld(when: string): Promise<void> {
    const boundMs = isPeaceful(this.#plan) ? peacefulRestMs : restBoundMs;
    await this.#until(() => whatIsHeld(this.#cluster).length === 0, boundMs);
    for (const held of whatIsHeld(this.#cluster)) this.#report(`${when}: ${held}`);
  }

  /** Lets time pass until it holds, looked at every so often. False if it does not within the bound. */
  async #until(condition: () => boolean, boundMs: number, stepMs = 40): Promise<boolean> {
    const { clock } = this.#cluster;
    const untilMs = clock.nowMs() + boundMs;
    while (!condition()) {
      if (clock.nowMs() >= untilMs) return false;
      await clock.advanceBy(stepMs);
    }
    return true;
  }

  #hear(message: ObservedMessage): void {
    if (message.from === visitorId) this.#noiseHeard += message.receivers;
    this.#options.onMessage?.(message);
    this.#watch.hear(message);
  }

  #malformed(): number {
    const counters = /malformed|undecodable/;
    return this.#cluster.processes.reduce(
      (sum, { metrics }) => sum + metrics.sumCounters(counters),
      0,
    );
  }

  #note(note: string): void {
    this.#options.onNote?.(this.#cluster.clock.nowMs(), note);
  }

  #report(problem: string): void {
    this.#note(`VIOLATION ${problem}`);
    if (this.violations.length < maxViolations) this.violations.push(problem);
  }
}

/** Prompts of a run of which workers may hold something: the longest few that are given as tokens. */
function promptsOf({ requests }: SimulationPlan): readonly PromptHashes[] {
  const prompts = requests.flatMap(({ prompt }) =>
    prompt.kind === "tokens" ? [prompt.tokens] : [],
  );
  const longest = prompts.sort((a, b) => b.length - a.length).slice(0, askedPrompts);
  return longest.map((tokens) => {
    const blockHashes = hasher.blockHashes(tokens, simBlockSize);
    const sequenceHashes = hasher.sequenceHashes(blockHashes);
    return { tokens: tokens.length, blockHashes, sequenceHashes };
  });
}

/** A way to router and worker, and the engine's step there; without bound where messages may be lost or late. */
function dropBoundMs(plan: SimulationPlan): number {
  const { decodeMs, maxDelayMs, prefillMs } = plan.shape;
  return isPeaceful(plan)
    ? 4 * maxDelayMs + 2 * decodeMs + prefillMs + 10
    : Number.POSITIVE_INFINITY;
}

/** A lease, an interval and a look; without bound where a worker may not hear, or has no way to know. */
function orphanBoundMs({ shape, temper }: SimulationPlan): number {
  return temper === "deaths" ? orphanSeenMs + 4 * shape.maxDelayMs : Number.POSITIVE_INFINITY;
}

/** Where a release may get lost. */
const lossyTempers: ReadonlySet<string> = new Set(["network", "outage", "everything"]);

/** Whether nothing but clients goes away. */
function isPeaceful({ temper }: SimulationPlan): boolean {
  return temper === "calm" || temper === "departures";
}

function count(into: Record<string, number>, key: string): void {
  into[key] = (into[key] ?? 0) + 1;
}
