import { KvHandoff } from "@baton/protocol";
import type { RunningActor } from "@baton/runtime";
import { SeededRandom } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { type CrashableEngine, crashableEngine } from "./support/crashable-engine.ts";
import { FakeFrontend, type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

const runs = 25;
const actionsPerRun = 120;

interface Member {
  readonly worker: RunningActor;
  readonly engine: CrashableEngine;
  isUp: boolean;
}

interface Sent {
  readonly name: string;
  readonly stream: number;
  readonly frontend: FakeFrontend;
  readonly leg: "prefill" | "decode";
  readonly choices: number;
}

/** Random work, aborts, engine crashes, cut buses and lost Frontends on two prefill and two decode workers. */
class Storm {
  readonly #random: SeededRandom;
  readonly #cluster: WorkerCluster;
  readonly #prefillers: Member[] = [];
  readonly #decoders: Member[] = [];
  readonly #frontends: FakeFrontend[] = [];
  readonly sent: Sent[] = [];
  #next = 0;

  /** In half of the storms nothing is lost on the way. */
  readonly cutsBus: boolean;
  readonly aborted = new Set<string>();

  constructor(seed: number) {
    this.cutsBus = seed % 2 === 1;
    this.#random = new SeededRandom(`storm-${seed}`);
    this.#cluster = workerCluster({ seed, minDelayMs: 0, maxDelayMs: 3 });
    this.#frontends.push(this.#cluster.frontend, new FakeFrontend(this.#cluster, "fe-2"));
  }

  get members(): Member[] {
    return [...this.#prefillers, ...this.#decoders];
  }

  async run(): Promise<void> {
    for (const type of ["prefill", "prefill", "decode", "decode"] as const) {
      const engine = crashableEngine();
      const flags = {
        "worker-type": type,
        blocks: 24,
        "max-num-seqs": 3,
        "handoff-lease-ms": 3_000,
      };
      const worker = await this.#cluster.startWorker(flags, { engine: engine.factory });
      const list = type === "prefill" ? this.#prefillers : this.#decoders;
      list.push({ worker, engine, isUp: true });
    }
    for (let i = 0; i < actionsPerRun; i++) {
      await this.#act();
      await this.#cluster.clock.advanceBy(this.#random.number() * 8);
    }
    for (const member of this.members) await this.#mend(member);
    await this.#cluster.clock.advanceBy(20_000);
  }

  async held(): Promise<unknown[]> {
    const held: unknown[] = [];
    for (const { worker } of this.members) {
      for (const gauge of ["worker_sequences", "worker_blocks_used", "worker_handoffs_held"]) {
        const value = await this.#cluster.metric(worker, `baton_${gauge}`);
        if (value !== 0) held.push([worker.id, gauge, value]);
      }
    }
    return held;
  }

  async #act(): Promise<void> {
    const draw = this.#random.number();
    if (draw < 0.4) this.#prefill();
    else if (draw < 0.6) this.#decode();
    else if (draw < 0.7) this.#generate();
    else if (draw < 0.88) this.#abort();
    else if (draw < 0.91) this.#crash();
    else if (draw < 0.95 && this.cutsBus) await this.#cutBus();
    else for (const member of this.members) await this.#mend(member);
  }

  #prefill(): void {
    const [frontend, member, name] = this.#draw(this.#prefillers);
    const stream = frontend.prefill(member.worker, name, this.#work());
    this.sent.push({ name, stream, frontend, leg: "prefill", choices: 1 });
  }

  #generate(): void {
    const [frontend, member, name] = this.#draw(this.#decoders);
    const work = this.#work();
    const stream = frontend.generate(member.worker, name, work);
    this.sent.push({ name, stream, frontend, leg: "decode", choices: work.params.n });
  }

  /** Goes on from some prefill, sometimes for a second time. */
  #decode(): void {
    const frontend = this.#pick(this.#frontends);
    const done = this.#pick(frontend.prefilled);
    if (done?.handoff == null) return;
    const { worker } = this.#pick(this.#decoders);
    const name = `${done.requestId}-d${this.#next++}`;
    const ticket = KvHandoff.decode(done.handoff);
    const choices = ticket.firstTokens.length;
    const work = { promptLength: ticket.promptTokens, params: { n: choices } };
    const stream = frontend.decode(worker, name, ticket, work);
    this.sent.push({ name, stream, frontend, leg: "decode", choices });
  }

  #abort(): void {
    const target = this.#pick(this.sent);
    if (target === undefined) return;
    this.aborted.add(target.name);
    target.frontend.abort(null, target.name);
  }

  #crash(): void {
    const member = this.#pick(this.members);
    if (!member.isUp) return;
    member.isUp = false;
    member.engine.crash();
  }

  async #cutBus(): Promise<void> {
    const { worker } = this.#pick(this.members);
    this.#cluster.network.disconnect(worker.id);
    await this.#cluster.clock.advanceBy(this.#random.number() * 20);
    this.#cluster.network.reconnect(worker.id);
  }

  async #mend(member: Member): Promise<void> {
    if (member.isUp) return;
    member.isUp = true;
    await member.engine.restore();
  }

  #draw(members: Member[]): readonly [FakeFrontend, Member, string] {
    return [this.#pick(this.#frontends), this.#pick(members), `r${this.#next++}`];
  }

  #work() {
    const promptLength = 1 + Math.floor(this.#random.number() * 100);
    const n = this.#random.number() < 0.2 ? 2 : 1;
    const maxTokens = 1 + Math.floor(this.#random.number() * 12);
    return { promptLength, params: { maxTokens, n, temperature: n - 1, seed: 5 } };
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random.number() * items.length)] as T;
  }
}

describe("workers in a storm", () => {
  it.each(Array.from({ length: runs }, (_, seed) => seed))(
    "end every request at most once and hold nothing afterwards (seed %i)",
    async (seed) => {
      const storm = new Storm(seed);
      await storm.run();

      const endings = storm.sent.map((sent) => endingOf(sent));
      expect(endings).toContain("done");
      expect(endings).toContain("failed");
      expect(await storm.held()).toEqual([]);
      for (const [i, { name }] of storm.sent.entries()) {
        if (!storm.cutsBus && !storm.aborted.has(name)) expect(endings[i]).not.toBe("open");
      }
    },
  );
});

/** How a request ended, as its Frontend sees it. Fails if it ended twice. */
function endingOf({ name, stream, frontend, leg, choices }: Sent): "open" | "failed" | "done" {
  const failures = frontend.failed.filter((fact) => fact.requestId === name).length;
  // A worker says it again while nobody fetches the KV: the same words are one end.
  const said = frontend.prefilled.filter((fact) => fact.requestId === name);
  const prefills = new Set(said.map((fact) => JSON.stringify(fact))).size;
  const own = frontend.frames
    .flatMap((frame) => frame.entries)
    .filter((entry) => entry.stream === stream);
  const ends = own.filter((entry) => entry.end !== null);
  expect(failures + (leg === "prefill" ? prefills : 0)).toBeLessThanOrEqual(1);
  expect(new Set(ends.map((entry) => entry.choice)).size).toBe(ends.length);
  if (failures > 0) {
    expect(own).toEqual([]);
    return "failed";
  }
  if (leg === "prefill") return prefills === 1 ? "done" : "open";
  if (ends.some((entry) => entry.end?.reason === "error")) return "failed";
  return ends.length === choices ? "done" : "open";
}
