import { ActorHeartbeat, actorId, modelName } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { memoryCluster } from "../src/memory-cluster.ts";
import { PlayedActor } from "../src/played-actor.ts";

const model = modelName("m");

async function played() {
  const cluster = memoryCluster();
  const heard: ActorHeartbeat[] = [];
  const bus = cluster.bus("ear");
  bus.subscribe(cluster.subjects.heartbeats("worker"), ({ payload }) => {
    heard.push(ActorHeartbeat.decode(payload));
  });
  const options = { role: "worker", id: "w-1", model, generation: 5 } as const;
  const actor = new PlayedActor(cluster, { ...options, facts: { set: "blue" } });
  await cluster.clock.advanceBy(0);
  const pass = (ms: number) => cluster.clock.advanceBy(ms);
  const probe = async () => {
    const subject = cluster.subjects.probe("worker", actorId("w-1"));
    const asked = bus.request(subject, new Uint8Array(), { timeoutMs: 100 });
    const code = asked.then(String, (error: { readonly code: string }) => error.code);
    await pass(150);
    return code;
  };
  return { actor, heard, pass, probe };
}

describe("a played actor", () => {
  it("gives life signs from the start on, with what the test says of it", async () => {
    const { heard, pass } = await played();

    await pass(500);

    expect(heard.map(({ sequence, state }) => [sequence, state])).toEqual([
      [0, "ready"],
      [1, "ready"],
      [2, "ready"],
    ]);
    expect(heard[0]).toMatchObject({ id: "w-1", role: "worker", model, generation: 5 });
    expect(heard[0]?.set).toBe("blue");
  });

  it("is silent while it is frozen, though it is there for a probe", async () => {
    const { actor, heard, pass, probe } = await played();

    actor.freeze();
    await pass(1_000);
    expect([heard.length, await probe()]).toEqual([1, "deadline_exceeded"]);

    actor.thaw();
    await pass(0);
    expect(heard.length).toBe(2);
  });

  it("says goodbye when it leaves, and nothing after", async () => {
    const { actor, heard, pass, probe } = await played();

    actor.leave();
    await pass(1_000);

    expect(heard.map(({ state }) => state)).toEqual(["ready", "stopped"]);
    expect(await probe()).toBe("no_responders");
  });

  it("dies without a word", async () => {
    const { actor, heard, pass, probe } = await played();

    actor.kill();
    await pass(1_000);

    expect([heard.length, await probe()]).toEqual([1, "no_responders"]);
  });
});
