import type { GenerationParams, ServingError, TokenLogprobs } from "@baton/protocol";
import { createTokenizer, decodeTokenizerArtifact } from "@baton/text";
import { expect, it } from "vitest";
import type { EngineCard, EngineJob, PrefillResult, StepOutput } from "../src/engine.ts";
import { tokensOf } from "./engine-recorder.ts";

/** An engine under test, as the option cases use it. */
export interface OptionSubject {
  card(): EngineCard;
  promptOf(length: number, seed?: number): Uint32Array;
  jobOf(id: string, tokens: Uint32Array, params: Partial<GenerationParams>): EngineJob;
  generate(job: EngineJob): Promise<StepOutput[]>;
  prefill(job: EngineJob): Promise<PrefillResult>;
  /** Moves what was prefilled, and generates from it. */
  handOverAndDecode(from: PrefillResult, to: EngineJob): Promise<StepOutput[]>;
  /** What a job fails with, once it is over. */
  failureOf(job: EngineJob): Promise<ServingError | undefined>;
  expectIdle(): Promise<void>;
}

/** One option of a request. */
interface OptionCase {
  readonly feature: string;
  readonly params: Partial<GenerationParams>;
}

const smallSchema = JSON.stringify({
  type: "object",
  properties: {
    kind: { enum: ["cat", "dog"] },
    age: { type: "null" },
    tame: { type: "boolean" },
    name: { type: "string", maxLength: 3 },
  },
  required: ["kind", "tame", "name"],
  additionalProperties: false,
});
const schemaGrammar = { kind: "json_schema", schema: smallSchema } as const;
const wholeText = { ignoreEos: false, maxTokens: 120 };

const cases: readonly OptionCase[] = [
  { feature: "n", params: { n: 3, temperature: 1, seed: 11 } },
  { feature: "n", params: { n: 2, temperature: 0, logprobs: 1 } },
  { feature: "logprobs", params: { logprobs: 2 } },
  { feature: "prompt_logprobs", params: { promptLogprobs: 2 } },
  { feature: "prompt_logprobs", params: { promptLogprobs: 0, n: 2, seed: 4, temperature: 1 } },
  { feature: "logit_bias", params: { logitBias: { "9": 100 } } },
  { feature: "logit_bias", params: { logitBias: { "9": -100, "10": 2 }, temperature: 1, seed: 3 } },
  { feature: "min_tokens", params: { minTokens: 4, ignoreEos: false } },
  { feature: "grammar", params: { ...wholeText, maxTokens: 12, grammar: { kind: "json" } } },
  { feature: "grammar", params: { ...wholeText, grammar: schemaGrammar, logprobs: 1 } },
  {
    feature: "grammar",
    params: { ...wholeText, grammar: schemaGrammar, n: 2, temperature: 1, seed: 8 },
  },
];

/** What every engine promises of each option that its card lists, and of each that it does not. */
export function optionContract(subject: OptionSubject): void {
  const { jobOf, promptOf } = subject;
  const can = (feature: string) => subject.card().capabilities.includes(feature);
  const promptFor = (seed?: number) => promptOf(subject.card().blockSize + 2, seed);

  it("answers each option the same with and without a handoff, or says that it cannot", async () => {
    for (const [index, { feature, params }] of cases.entries()) {
      const tokens = promptFor(index);
      const jobFor = (leg: string) => jobOf(`${leg}-${index}`, tokens, params);
      if (!can(feature)) {
        expect(await subject.failureOf(jobFor("p"))).toMatchObject({ code: "unsupported" });
        continue;
      }
      const alone = await subject.generate(jobFor("a"));
      const from = await subject.prefill(jobFor("p"));
      const handedOver = await subject.handOverAndDecode(from, jobFor("d"));

      const asked = `${feature} by ${JSON.stringify(params)}`;
      expect(tellOf(handedOver), asked).toEqual(tellOf(alone));
      expect(from.firstTokens, asked).toHaveLength(params.n ?? 1);
      expect(rounded(from.promptLogprobs ?? []), asked).toEqual(
        rounded(alone.flatMap((output) => output.promptLogprobs ?? [])),
      );
    }
    await subject.expectIdle();
  });

  it("gives log-probabilities of each token, as many alternatives as asked for", async () => {
    if (!can("logprobs")) return;
    const outputs = await subject.generate(jobOf("a1", promptFor(), { logprobs: 2 }));

    const logprobs = outputs.flatMap((output) => output.logprobs ?? []);
    expect(logprobs).toHaveLength(6);
    for (const told of logprobs) {
      expect(told?.top).toHaveLength(2);
      // Greedy: the likeliest is the chosen one.
      expect(told?.top[0]?.[1]).toBe(told?.chosen);
    }
  });

  it("gives log-probabilities of the prompt's tokens after the first, once", async () => {
    if (!can("prompt_logprobs")) return;
    const tokens = promptFor();
    const params = { promptLogprobs: 1 };
    // The cache must not make a difference.
    await subject.generate(jobOf("a1", tokens, {}));
    const outputs = await subject.generate(jobOf("a2", tokens, params));

    expect(outputs.filter((output) => output.promptLogprobs !== undefined)).toHaveLength(1);
    const told = outputs[0]?.promptLogprobs;
    expect(told).toHaveLength(tokens.length - 1);
    for (const entry of told ?? []) {
      expect(entry?.chosen).toBeLessThan(0);
      expect(entry?.top).toHaveLength(1);
      expect(entry?.top[0]?.[1]).toBeGreaterThanOrEqual(entry?.chosen ?? 0);
    }
    const one = await subject.prefill(jobOf("p1", promptOf(1), params));
    expect(one.promptLogprobs).toEqual([]);
  });

  it("follows a bias", async () => {
    if (!can("logit_bias")) return;
    const tokens = promptFor();
    const free = tokensOf(await subject.generate(jobOf("a1", tokens, {})));
    const forced = await subject.generate(jobOf("a2", tokens, { logitBias: { "9": 100 } }));
    const banned = { logitBias: { [String(free[0])]: -100 } };
    const without = tokensOf(await subject.generate(jobOf("a3", tokens, banned)));

    expect(tokensOf(forced)).toEqual([9, 9, 9, 9, 9, 9]);
    expect(without).not.toContain(free[0]);
  });

  it("does not end before min_tokens", async () => {
    if (!can("min_tokens")) return;
    const tokens = promptFor();
    const free = tokensOf(await subject.generate(jobOf("a1", tokens, {})));
    const stopTokenIds = [...new Set(free)];
    const ended = await subject.generate(jobOf("a2", tokens, { stopTokenIds }));
    const longer = await subject.generate(jobOf("a3", tokens, { stopTokenIds, minTokens: 3 }));

    expect(tokensOf(ended)).toEqual([free[0]]);
    expect(ended.at(-1)?.finish).toBe("stop");
    expect(tokensOf(longer).length).toBeGreaterThan(3);
    for (const token of tokensOf(longer).slice(0, 3)) expect(stopTokenIds).not.toContain(token);
  });

  it("gives each choice its own output, and each its end", async () => {
    if (!can("n")) return;
    const outputs = await subject.generate(
      jobOf("a1", promptFor(), { n: 4, temperature: 1.5, seed: 2, maxTokens: 30 }),
    );

    const texts = [0, 1, 2, 3].map((choice) => tokensOf(ofChoice(outputs, choice)).join(" "));
    expect(new Set(texts).size).toBe(4);
    for (const choice of [0, 1, 2, 3]) {
      const own = ofChoice(outputs, choice);
      expect(own.map((output) => output.offset)).toEqual([...own.keys()]);
      expect(own.map((output) => output.finish)).toEqual([...Array(29).fill(null), "length"]);
    }
    await subject.expectIdle();
  });

  it("hands over when just some of the choices go on", async () => {
    if (!can("n") || !can("logit_bias")) return;
    const tokens = promptFor();
    // Without what they would all say first, choices part at once.
    const [common] = (await subject.prefill(jobOf("p0", tokens, {}))).firstTokens;
    const logitBias = { [String(common?.id)]: -100 };
    const params = { n: 4, temperature: 1.5, seed: 2, logitBias };
    const [first] = (await subject.prefill(jobOf("p1", tokens, params))).firstTokens;
    const ending = { ...params, stopTokenIds: [first?.id ?? 0] };
    const alone = await subject.generate(jobOf("a1", tokens, ending));
    const from = await subject.prefill(jobOf("p2", tokens, ending));

    expect(from.finishReasons).toEqual(
      from.firstTokens.map(({ id }) => (id === first?.id ? "stop" : null)),
    );
    expect(from.finishReasons).toContain(null);
    const handedOver = await subject.handOverAndDecode(from, jobOf("d1", tokens, ending));
    expect(tellOf(handedOver)).toEqual(tellOf(alone));
  });

  it("keeps nothing of a prompt whose choices all end with their first tokens", async () => {
    if (!can("n")) return;
    const from = await subject.prefill(
      jobOf("p1", promptFor(), { n: 3, maxTokens: 1, temperature: 1, seed: 1 }),
    );

    expect(from.finishReasons).toEqual(["length", "length", "length"]);
    expect(from.staged).toBeNull();
    await subject.expectIdle();
  });

  it("writes JSON that is valid by its schema, and ends it", async () => {
    if (!can("grammar")) return;
    const tokenizer = createTokenizer(decodeTokenizerArtifact(subject.card().tokenizer));
    for (const seed of [1, 2, 3]) {
      const params = { ...wholeText, grammar: schemaGrammar, temperature: seed - 1, seed };
      const outputs = await subject.generate(jobOf(`a${seed}`, promptFor(seed), params));

      expect(outputs.at(-1)?.finish).toBe("stop");
      const ends = [...tokenizer.endOfGenerationIds];
      const tokens = tokensOf(outputs).filter((token) => !ends.includes(token));
      const value = JSON.parse(tokenizer.decode(tokens)) as Record<string, unknown>;
      expect(value).toMatchObject({
        kind: expect.stringMatching(/^(cat|dog)$/),
        tame: expect.any(Boolean),
        name: expect.stringMatching(/^.{0,3}$/su),
      });
      expect(
        Object.keys(value).filter((key) => !["kind", "age", "tame", "name"].includes(key)),
      ).toEqual([]);
    }
  });

  it("refuses a schema that it cannot keep to, by the keyword", async () => {
    if (!can("grammar")) return;
    const schema = JSON.stringify({ type: "string", pattern: "^a" });
    const job = jobOf("p1", promptFor(), { grammar: { kind: "json_schema", schema } });

    expect(await subject.failureOf(job)).toMatchObject({
      code: "unsupported",
      details: { param: "response_format", problem: expect.stringContaining("pattern") },
    });
    await subject.expectIdle();
  });
}

function ofChoice(outputs: readonly StepOutput[], choice: number): StepOutput[] {
  return outputs.filter((output) => output.choice === choice);
}

/** What a client would see of each choice. */
function tellOf(outputs: readonly StepOutput[]) {
  const choices = [...new Set(outputs.map((output) => output.choice))].sort((a, b) => a - b);
  return choices.map((choice) => {
    const own = ofChoice(outputs, choice);
    return {
      choice,
      tokens: tokensOf(own),
      logprobs: rounded(own.flatMap((output) => output.logprobs ?? [])),
      finish: own.at(-1)?.finish,
    };
  });
}

function rounded(logprobs: readonly (TokenLogprobs | null)[]) {
  return logprobs.map((told) => told?.chosen.toFixed(3));
}
