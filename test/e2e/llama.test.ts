import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SeededRandom } from "@baton/runtime";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { makeTinyGguf } from "../../packages/worker/scripts/make-tiny-gguf.ts";
import {
  type ApiAnswer,
  ApiStream,
  type Cluster,
  descendantsOf,
  describeWith,
  isAlive,
  post,
  startCluster,
  textOf,
  waitUntil,
  workerSpec,
} from "../support/processes/index.ts";

const blockTokens = 16;
const lostMs = 1_000;
/** Tokens of the tiny model that are plain text. */
const firstTextId = 3;
const textIds = 600;

/** Token ids that repeat from a seed. */
function tokensOf(length: number, seed: string): number[] {
  const random = new SeededRandom(seed);
  return Array.from({ length }, () => firstTextId + (random.u32() % textIds));
}

describeWith(["nats", "llama"], "the llama engine on a tiny model, every actor a process", () => {
  let folder: string;
  let cluster: Cluster;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "baton-e2e-"));
    const model = join(folder, "tiny.gguf");
    await writeFile(model, makeTinyGguf());
    cluster = await startCluster({
      engine: "llama",
      model: "relayed",
      flags: { model },
      also: [workerSpec("aggregated", "aggregated-0", "alone", { engine: "llama", model })],
    });
  });
  afterAll(async () => {
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => cluster.untilIdle());

  const body = (model: "relayed" | "alone", prompt: readonly number[], maxTokens = 24) => ({
    model,
    prompt,
    max_tokens: maxTokens,
    temperature: 0,
    ignore_eos: true,
    logprobs: 0,
    baton: { include: ["route"] },
  });
  const ask = (model: "relayed" | "alone", prompt: readonly number[]): Promise<ApiAnswer> =>
    post(cluster.api, "completions", body(model, prompt));
  const tokensIn = ({ body: { choices } }: ApiAnswer) =>
    (choices[0]?.logprobs as { readonly tokens: readonly string[] } | null)?.tokens;

  it("says the same with and without a handoff, token for token, one prompt at a time", async () => {
    for (const length of [1, 2, 15, 16, 17, 100, 400, 1_000]) {
      const prompt = tokensOf(length, `prompt ${length}`);

      const relayed = await ask("relayed", prompt);
      const alone = await ask("alone", prompt);

      expect(relayed.body.baton).toEqual({
        mode: "disaggregated",
        prefill_worker: "prefill-0",
        decode_worker: "decode-0",
      });
      expect([length, textOf(relayed)]).toEqual([length, textOf(alone)]);
      expect(tokensIn(relayed)).toHaveLength(24);
      expect(tokensIn(relayed)).toEqual(tokensIn(alone));
      expect(relayed.body.usage).toEqual(alone.body.usage);
    }
  });

  it("moves only the blocks that a second prompt does not share with the first", async () => {
    const shared = tokensOf(40 * blockTokens, "shared");
    const ends = [tokensOf(3 * blockTokens, "first"), tokensOf(5 * blockTokens, "second")];
    const moves = [];
    for (const end of ends) {
      const before = await figures();
      const answer = await ask("relayed", [...shared, ...end]);
      const after = await figures();
      moves.push({
        moved: after.moved - before.moved,
        reused: after.reused - before.reused,
        cached: answer.body.usage.prompt_tokens_details.cached_tokens,
      });
    }

    expect(moves).toEqual([
      { moved: 43, reused: 0, cached: 0 },
      { moved: 5, reused: 40, cached: 40 * blockTokens },
    ]);
  });

  const figures = async () => ({
    moved: await cluster.metrics("baton_kv_blocks_moved_total"),
    reused: await cluster.metrics("baton_kv_blocks_reused_total"),
  });

  it("answers eight at once, each in full", async () => {
    const prompts = Array.from({ length: 8 }, (_, index) =>
      tokensOf(50 + index * 9, `at ${index}`),
    );

    const answers = await Promise.all(prompts.map((prompt) => ask("relayed", prompt)));

    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(tokensIn(answer)).toHaveLength(24);
    }
  });

  it("streams text through a chat template", async () => {
    const chat = {
      model: "relayed",
      messages: [{ role: "user", content: "Grüße, 你好!" }],
      max_tokens: 30,
      temperature: 0,
      ignore_eos: true,
    };

    const whole = await post(cluster.api, "chat/completions", chat);
    const stream = await new ApiStream(cluster.api, "chat/completions", chat).over();

    expect(stream.text()).toBe(textOf(whole));
    expect(stream.isDone).toBe(true);
  });

  it("ends with engine_lost when its child is killed, and is back as a later generation", async () => {
    const prompt = tokensOf(64, "again");
    const before = await ask("relayed", prompt);
    const generation = await generationOf("decode-0");
    const decodes = await cluster.metrics("baton_worker_decodes_started_total");
    const id = randomUUID();
    const stream = new ApiStream(
      cluster.api,
      "completions",
      body("relayed", tokensOf(30, "long"), 3_500),
      id,
    );
    await stream.begun();
    const [child] = descendantsOf(cluster.process("decode-0").pid);
    if (child === undefined) throw new Error("the engine has no process of its own");

    process.kill(child.pid, "SIGKILL");
    const killedAtMs = performance.now();
    await stream.over();

    expect(stream.endedAtMs - killedAtMs).toBeLessThan(lostMs);
    expect(stream.isDone).toBe(false);
    expect(stream.errors).toEqual([
      expect.objectContaining({ code: "engine_lost", stage: "decode.streaming" }),
    ]);
    expect(await cluster.metrics("baton_worker_decodes_started_total")).toBe(decodes + 1);
    await cluster.untilServing("relayed");
    await waitUntil("an answer", async () => (await ask("relayed", prompt)).status === 200);
    expect(await generationOf("decode-0")).toBeGreaterThan(generation);
    expect(cluster.process("decode-0").hasEnded).toBe(false);
    expect(textOf(await ask("relayed", prompt))).toBe(textOf(before));
  });

  /** The folder through which states pass between a worker and its engine. */
  async function stateFolder(id: string): Promise<string> {
    const name = new RegExp(`^baton-llama-${cluster.process(id).pid}-`);
    for (const parent of ["/dev/shm", tmpdir()]) {
      const found = (await readdir(parent).catch(() => [])).find((entry) => name.test(entry));
      if (found !== undefined) return join(parent, found);
    }
    throw new Error(`${id} has no folder for states`);
  }

  /** Asks while a folder is spoilt: one error of the engine, nothing else is harmed, and all is well when it is mended. */
  async function expectEngineFailed(stage: string, mend: () => unknown): Promise<void> {
    const generations = await Promise.all(["prefill-0", "decode-0"].map(generationOf));
    let refused: ApiAnswer;
    try {
      refused = await ask("relayed", tokensOf(200, randomUUID()));
      expect(tokensIn(await ask("alone", tokensOf(20, "beside")))).toHaveLength(24);
    } finally {
      await mend();
    }

    expect(refused.status).toBe(502);
    expect(refused.body.error).toMatchObject({ code: "engine_failed", stage });
    await cluster.untilIdle();
    expect(tokensIn(await ask("relayed", tokensOf(200, "mended")))).toHaveLength(24);
    expect(await Promise.all(["prefill-0", "decode-0"].map(generationOf))).toEqual(generations);
  }

  it.each([
    ["prefill-0", "prefill.running"],
    ["decode-0", "handoff"],
  ])(
    "says engine_failed where %s cannot write states, and goes on when it can",
    async (id, stage) => {
      const states = await stateFolder(id);
      await rename(states, `${states}.away`);

      await expectEngineFailed(stage, () => rename(`${states}.away`, states));
    },
  );

  it.skipIf(process.getuid?.() !== 0).each([
    ["prefill-0", "prefill.running"],
    ["decode-0", "handoff"],
  ])(
    "says engine_failed where the disk of %s is full, and goes on when there is room",
    async (id, stage) => {
      const states = await stateFolder(id);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k", "full", states]);

      await expectEngineFailed(stage, () => execFileSync("umount", [states]));
    },
  );

  const generationOf = async (id: string) =>
    (await cluster.status()).actors.find((actor) => actor.id === id)?.generation ?? 0;

  it("leaves no process when its workers are killed", async () => {
    const ids = ["prefill-0", "decode-0"];
    const children = ids.flatMap((id) => descendantsOf(cluster.process(id).pid));

    await Promise.all(ids.map((id) => cluster.end(id, "SIGKILL")));

    expect(children.length).toBeGreaterThanOrEqual(2);
    await waitUntil("the engines' processes to be gone", () =>
      children.every(({ pid }) => !isAlive(pid)),
    );
  });
});
