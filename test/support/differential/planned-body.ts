import fc from "fast-check";

/** The paths that generate. */
export type GenerationPath = "/v1/chat/completions" | "/v1/completions" | "/inference/v1/generate";
export type Body = Readonly<Record<string, unknown>>;

/** A request without a model, and how its stops are to be chosen once it is known what it generates. */
export interface PlannedBody {
  readonly path: GenerationPath;
  readonly body: Body;
  readonly stops: readonly StopDraw[];
  /** Which of the generated tokens end a choice, each as a share of them. */
  readonly stopTokens: readonly number[];
  /** Whether the answer may be asked for as a stream. */
  readonly isStreamable: boolean;
  readonly streamOptions: Body | null;
}

/** A stop text: a part of what is generated, or one that is missed by its last character. */
interface StopDraw {
  readonly from: number;
  readonly length: number;
  readonly isMissed: boolean;
}

/** What the requests may ask for. */
export interface PlanBounds {
  readonly mostTokens: number;
  readonly mostChoices: number;
  /** Prompts of one body. */
  readonly mostPrompts: number;
  /** Ids below this one are asked for as prompts, biases and stops. */
  readonly knownIds: number;
  /** Whether the engine takes a bias beside a grammar. */
  readonly biasesGrammars: boolean;
}

const pieces = fc.constantFrom(
  "The relay runs. ",
  "a",
  "\n\n",
  "한글과 조합형 ",
  "👩‍👩‍👧‍👦",
  "🏳️‍🌈 ",
  "ภาษาไทย",
  " عربى ",
  "\u202eשלום",
  "e\u0301",
  "<|im_end|>",
  "\ud83d",
  "\u0000",
  "12345 ",
);
const text = fc.array(pieces, { minLength: 1, maxLength: 12 }).map((all) => all.join(""));
const share = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const stop = fc.record({
  from: share,
  length: fc.integer({ min: 1, max: 12 }),
  isMissed: fc.boolean(),
});

const nameSchema = {
  type: "object",
  properties: { name: { type: "string" }, kind: { enum: ["a", "bc", 7] }, on: { type: "boolean" } },
  required: ["name", "kind"],
  additionalProperties: false,
};
const responseFormat = fc.constantFrom(
  { type: "text" },
  { type: "json_object" },
  { type: "json_schema", json_schema: { name: "one", schema: nameSchema } },
  {
    type: "json_schema",
    json_schema: {
      name: "list",
      schema: { type: "array", items: { type: "integer" }, maxItems: 3 },
    },
  },
);

/** An option that most requests do without. */
function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

function samplingOf({ knownIds, mostChoices, mostTokens }: PlanBounds) {
  const id = fc.integer({ min: 3, max: knownIds - 1 });
  const tenths = (least: number, most: number) =>
    fc.integer({ min: least, max: most }).map((tenth) => tenth / 10);
  const fields = fc.record({
    max_tokens: fc.oneof(fc.constantFrom(1, 2), fc.integer({ min: 3, max: mostTokens })),
    min_tokens: rarely(fc.integer({ min: 0, max: 6 })),
    temperature: fc.constantFrom(0, 0, 0.7, 1, 2),
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    top_p: rarely(tenths(1, 10)),
    top_k: rarely(fc.integer({ min: -1, max: 50 })),
    min_p: rarely(tenths(0, 5)),
    presence_penalty: rarely(tenths(-20, 20)),
    frequency_penalty: rarely(tenths(-20, 20)),
    repetition_penalty: rarely(tenths(8, 15)),
    logit_bias: rarely(
      fc.dictionary(id.map(String), fc.constantFrom(-100, -2, 1.5, 6, 100), { maxKeys: 4 }),
    ),
    ignore_eos: rarely(fc.boolean()),
    n: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: mostChoices })),
    prompt_logprobs: rarely(fc.integer({ min: 0, max: 3 })),
  });
  return fields.map(({ min_tokens: least, ...others }) => ({
    ...others,
    min_tokens: least === undefined ? undefined : Math.min(least, others.max_tokens),
  }));
}

const streamOptions = fc.option(
  fc.record({ include_usage: fc.constant(true), continuous_usage_stats: fc.boolean() }),
  { nil: null },
);
const alternatives = fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined });
const form = rarely(responseFormat);

/** Requests of all kinds, the same from a seed. */
export function planBodies(bounds: PlanBounds, seed: number, count: number): PlannedBody[] {
  const id = fc.integer({ min: 3, max: bounds.knownIds - 1 });
  const ids = fc.array(id, { minLength: 1, maxLength: 90 });
  const messages = fc.array(
    fc.record({ role: fc.constantFrom("system", "user", "assistant"), content: text }),
    { minLength: 1, maxLength: 3 },
  );
  const several = { minLength: 1, maxLength: bounds.mostPrompts };
  const prompts = fc.oneof(text, ids, fc.array(text, several), fc.array(ids, several));
  const body = fc.oneof(
    fc
      .tuple(samplingOf(bounds), messages, alternatives, form)
      .map(([sampling, said, top, response_format]) =>
        chatOf(sampling, said, top, response_format),
      ),
    fc
      .tuple(samplingOf(bounds), prompts, alternatives, form, fc.boolean(), fc.nat(9))
      .map(([sampling, prompt, logprobs, response_format, echo, luck]) => ({
        path: "/v1/completions" as const,
        body: {
          ...sampling,
          // With echo the prompt may be all that is wanted.
          ...(echo && luck === 0 ? { max_tokens: 0, min_tokens: undefined } : {}),
          prompt,
          logprobs,
          response_format,
          echo,
        },
      })),
    fc.tuple(samplingOf(bounds), ids, alternatives).map(([sampling, token_ids, logprobs]) => ({
      path: "/inference/v1/generate" as const,
      body: { token_ids, sampling_params: { ...sampling, logprobs } },
    })),
  );
  const planned = fc
    .record({
      request: body,
      stops: fc.array(stop, { maxLength: 4 }),
      stopTokens: fc.array(share, { maxLength: 2 }),
      streamOptions,
    })
    .map(({ request, ...rest }) => ({
      ...rest,
      path: request.path,
      body: bounds.biasesGrammars ? request.body : withoutBiasedGrammar(request.body),
      isStreamable: samplingIn(request.body).prompt_logprobs === undefined,
    }));
  return fc.sample(planned, { seed, numRuns: count });
}

function chatOf(
  sampling: Body,
  messages: unknown,
  top: number | undefined,
  response_format: unknown,
): { readonly path: "/v1/chat/completions"; readonly body: Body } {
  const logprobs = top === undefined ? {} : { logprobs: true, top_logprobs: top };
  return {
    path: "/v1/chat/completions",
    body: { ...sampling, ...logprobs, messages, response_format },
  };
}

function withoutBiasedGrammar(body: Body): Body {
  return body.response_format === undefined ? body : { ...body, logit_bias: undefined };
}

function samplingIn(body: Body): Body {
  return (body.sampling_params as Body | undefined) ?? body;
}

/** The request with its stops, chosen from what it generates without them. */
export function withStops(
  { body, stops, stopTokens }: PlannedBody,
  generated: { readonly texts: readonly string[]; readonly ids: readonly number[] },
): Body {
  const stop = stops.flatMap((draw, at) =>
    stopText(draw, generated.texts[at % Math.max(1, generated.texts.length)] ?? ""),
  );
  const { ids } = generated;
  const stop_token_ids = stopTokens.flatMap((at) => ids[Math.floor(at * ids.length)] ?? []);
  const more = {
    ...(stop.length === 0 ? {} : { stop: stop.length === 1 ? stop[0] : stop }),
    ...(stop_token_ids.length === 0 ? {} : { stop_token_ids }),
  };
  return body.sampling_params === undefined
    ? { ...body, ...more }
    : { ...body, sampling_params: { ...samplingIn(body), ...more } };
}

function stopText({ from, isMissed, length }: StopDraw, whole: string): readonly string[] {
  const characters = [...whole];
  const start = Math.floor(from * characters.length);
  const found = characters.slice(start, start + length).join("");
  return found === "" ? [] : [isMissed ? `${found}§` : found];
}
