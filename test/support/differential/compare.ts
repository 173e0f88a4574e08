import { askStream, askWhole, type GatheredAnswer, postJson } from "./ask.ts";
import { type Body, type PlannedBody, withStops } from "./planned-body.ts";

/** The two ways of serving that are held against each other, and how close figures must be. */
export interface Comparison {
  readonly api: string;
  /** The name of a model that is served by pairs, and of the same served by single workers. */
  readonly relayed: string;
  readonly alone: string;
  /** How far log-probabilities may be apart: 0, or what floats are rounded by. */
  readonly tolerance: number;
  /** The salt of the next ask: who has another one finds nothing in a cache. Null asks for the stops, which only `alone` is asked for. */
  readonly saltOf: (planned: PlannedBody | null) => string;
}

/** What became of one request, for a look at whether the comparison saw everything. */
export interface Compared {
  readonly planned: PlannedBody;
  readonly answer: GatheredAnswer;
  readonly differences: readonly string[];
}

/** Asks in all ways, one after the other, and says where the answers are unlike. Rejects with the request where one is none. */
export async function compareWays(ways: Comparison, planned: PlannedBody): Promise<Compared> {
  try {
    return await compare(ways, planned);
  } catch (cause) {
    throw new Error(`${String(cause)} to ${JSON.stringify(planned)}`, { cause });
  }
}

async function compare(ways: Comparison, planned: PlannedBody): Promise<Compared> {
  const { alone, api, relayed, tolerance } = ways;
  const { path, streamOptions } = planned;
  const body = withStops(planned, await generatedBy(ways, planned));
  const salted = (model: string) => ({ ...body, model, cache_salt: ways.saltOf(planned) });
  const isAlone = !hasSeveralPrompts(planned.body);
  const answer = await askWhole(api, path, salted(relayed));
  const other = await askWhole(api, path, salted(alone));
  const differences = [
    ...unlike("relayed, alone", seen(answer, isAlone), seen(other, isAlone), tolerance),
    ...uncounted(planned, answer),
  ];
  if (planned.isStreamable) {
    const ask = (model: string) =>
      askStream(api, path, {
        ...salted(model),
        ...(streamOptions === null ? {} : { stream_options: streamOptions }),
      });
    const stream = await ask(relayed);
    const otherStream = seen(await ask(alone), isAlone);
    // The first ask may have left the prompt in a cache: what is computed in other pieces is rounded otherwise.
    const again = await askWhole(api, path, salted(relayed));
    const whole = stream.usage === null ? { ...again, usage: null } : again;
    differences.push(
      ...unlike("streamed relayed, alone", seen(stream, isAlone), otherStream, tolerance),
      ...unlike("whole, streamed", seen(whole, isAlone), seen(stream, isAlone), tolerance),
    );
  }
  const asked = JSON.stringify({ path, body, stream: streamOptions });
  return { planned, answer, differences: differences.map((one) => `${one} of ${asked}`) };
}

/** Prompts of one body may find each other in a cache, or not: a matter of chance. */
function hasSeveralPrompts({ prompt }: Body): boolean {
  return Array.isArray(prompt) && prompt.length > 1 && typeof prompt[0] !== "number";
}

/** The answer with or without what was found in caches. */
function seen(answer: GatheredAnswer, withCaches: boolean): GatheredAnswer {
  if (withCaches || answer.usage === null) return answer;
  const { prompt_tokens_details: _, ...usage } = answer.usage;
  return { ...answer, usage };
}

/** What a request says without stops. */
async function generatedBy(ways: Comparison, planned: PlannedBody) {
  if (planned.stops.length + planned.stopTokens.length === 0) return { texts: [], ids: [] };
  const { alone: model, api } = ways;
  const body = { ...planned.body, cache_salt: ways.saltOf(null), echo: undefined, model };
  const echoed = planned.body.max_tokens === 0 ? { max_tokens: 1 } : {};
  const { choices } = await askWhole(api, planned.path, { ...body, ...echoed });
  const ids = choices.flatMap((choice) => choice.ids);
  if (ids.length > 0) {
    const { prompt } = await postJson<{ prompt: string }>(`${api}/detokenize`, {
      model,
      tokens: ids,
    });
    return { texts: [prompt], ids };
  }
  const texts = choices.map(({ text }) => text);
  const { tokens } = await postJson<{ tokens: number[] }>(`${api}/tokenize`, {
    model,
    prompt: texts.join(""),
    add_special_tokens: false,
  });
  return { texts, ids: tokens };
}

/** Whether usage and log-probabilities are those of the tokens that were returned. */
function uncounted({ body, path }: PlannedBody, { choices, usage }: GatheredAnswer): string[] {
  const counted = usage?.completion_tokens ?? -1;
  const problems: string[] = [];
  const prompt = promptTokens(body);
  if (prompt !== null && usage?.prompt_tokens !== prompt) {
    problems.push(`a prompt of ${prompt} tokens is counted as ${usage?.prompt_tokens}`);
  }
  if (body.max_tokens === 0 && counted !== 0) problems.push(`${counted} tokens of a mere echo`);
  if (usage?.total_tokens !== counted + (usage?.prompt_tokens ?? 0)) problems.push("total_tokens");
  if (path === "/inference/v1/generate") {
    const ids = choices.reduce((sum, choice) => sum + choice.ids.length, 0);
    if (ids !== counted) problems.push(`${counted} tokens counted, ${ids} returned`);
  }
  const logprobs = (body.sampling_params as Body | undefined)?.logprobs ?? body.logprobs;
  if (logprobs === undefined || body.echo === true) return problems;
  const told = choices.reduce((sum, choice) => sum + choice.logprobs.length, 0);
  // A token that ends a choice is counted, and has no text that log-probabilities could be of.
  const hidden = path === "/inference/v1/generate" ? 0 : choices.filter(isStopped).length;
  if (told > counted || told < counted - hidden) {
    problems.push(`${counted} tokens counted, ${told} with log-probabilities`);
  }
  return problems;
}

/** Tokens of prompts that are given as tokens, each prompt once; null where they are not. */
function promptTokens({ prompt = [], token_ids: ids = [] }: Body): number | null {
  const all: readonly unknown[] = [prompt, ids].flat(2);
  return all.length > 0 && all.every((one) => typeof one === "number") ? all.length : null;
}

function isStopped({ finish }: { readonly finish: string | null }): boolean {
  return finish === "stop";
}

function unlike(names: string, left: unknown, right: unknown, tolerance: number): string[] {
  const at = firstDifference(left, right, tolerance, "answer");
  return at === null ? [] : [`${names}: ${at}`];
}

/** Where two values are unlike; null if they are not. */
function firstDifference(
  left: unknown,
  right: unknown,
  tolerance: number,
  path: string,
): string | null {
  if (typeof left === "number" && typeof right === "number") {
    return Math.abs(left - right) <= tolerance ? null : `${path} is ${left}, ${right}`;
  }
  if (!isContainer(left) || !isContainer(right)) {
    if (left === right) return null;
    return `${path} is ${JSON.stringify(left)}, ${JSON.stringify(right)}`;
  }
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const found = firstDifference(left[key], right[key], tolerance, `${path}.${key}`);
    if (found !== null) return found;
  }
  return null;
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
