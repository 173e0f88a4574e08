import { afterAll, beforeAll, expect, it } from "vitest";
import { ContainerCluster } from "../support/containers/index.ts";
import {
  type ActorSpec,
  commonActors,
  describeWith,
  post,
  waitUntil,
  workerSpec,
} from "../support/processes/index.ts";

const timing = { "mock-prefill-ms": 2, "mock-decode-ms": 1 };
/** What the activation of a model waits for. */
const needed = ["prefill", "decode", "prefill-router", "decode-router"] as const;
/** One of these joins each order, in each place in turn. */
const joiners = ["discovery", "frontend", "kv-event-aggregator"] as const;
/** Orders are tried beside each other, each in a namespace of its own. */
const lanes = ["lane-1", "lane-2", "lane-3"];

const actors: readonly ActorSpec[] = [
  ...commonActors(),
  workerSpec("prefill", "prefill", "mock", timing),
  workerSpec("decode", "decode", "mock", timing),
];

/** Every order of what is needed, with somebody who joins. */
const orders = permutations<string>(needed).map((order, index) => {
  const joiner = joiners[index % joiners.length] ?? "discovery";
  return [order.toSpliced(index % (order.length + 1), 0, joiner)] as const;
});

describeWith(["docker"], "the activation of disaggregated serving, in containers", () => {
  let cluster: ContainerCluster;
  /** Orders that wait for a lane, first come, first served. */
  const waiting: ((lane: string) => void)[] = [];

  beforeAll(async () => {
    cluster = await ContainerCluster.open({ hasFigures: false });
    await cluster.startNats();
    for (const lane of lanes) {
      await Promise.all(actors.map((spec) => cluster.start(spec, lane)));
    }
    await Promise.all(lanes.map(untilServing));
  }, 400_000);
  afterAll(() => cluster?.close(), 60_000);

  const ask = async (lane: string) =>
    await post(cluster.api("frontend", lane), "completions", {
      model: "mock",
      prompt: "Who runs?",
      max_tokens: 3,
      baton: { include: ["route"] },
    });

  async function untilServing(lane: string): Promise<void> {
    const timeoutMs = 60_000;
    await waitUntil(`${lane} to serve`, async () => (await ask(lane)).status === 200, {
      timeoutMs,
    });
  }

  /** Runs it in a namespace that nobody else uses meanwhile. */
  async function inLane(run: (lane: string) => Promise<void>): Promise<void> {
    const lane = lanes.pop() ?? (await new Promise<string>((resolve) => waiting.push(resolve)));
    try {
      await run(lane);
    } finally {
      const next = waiting.shift();
      if (next === undefined) lanes.push(lane);
      else next(lane);
    }
  }

  /** Ends those that are to arrive, and waits until those that stay know it. */
  async function clear(lane: string, order: readonly string[]): Promise<void> {
    await Promise.all(order.map((id) => cluster.kill(id, lane)));
    await waitUntil(`${lane} to be cleared`, async () => {
      if ((await cluster.modelStatus(lane))?.ready === true) return false;
      return order.includes("frontend") || (await ask(lane)).status === 503;
    });
  }

  async function arrive(lane: string, order: readonly string[]): Promise<void> {
    const watch = await cluster.watch(lane);
    for (const [index, id] of order.entries()) {
      const before = watch.heartbeat(id)?.generation ?? 0;
      await cluster.startAgain(id, lane);
      await waitUntil(
        `${id} of ${lane} to be heard`,
        () => (watch.heartbeat(id)?.generation ?? 0) > before,
        { timeoutMs: 30_000 },
      );
      const missing = needed.filter((one) => order.indexOf(one) > index);
      if (missing.length === 0 || order.indexOf("frontend") > index) continue;
      const { body } = await waitUntil("an answer", () => ask(lane));
      const code = expect.stringMatching(/^(not_ready|prefill_activating|model_not_found)$/);
      expect({ missing, code: body.error?.code }).toEqual({ missing, code });
    }
    await untilServing(lane);
    const { body } = await ask(lane);
    expect(body.baton?.mode).toBe("disaggregated");
  }

  it.concurrent.each(orders)("comes about in the order %j", { timeout: 240_000 }, async (order) => {
    await inLane(async (lane) => {
      await clear(lane, order);
      await arrive(lane, order);
    });
  });
});

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  );
}
