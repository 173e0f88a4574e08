import { gzipSync } from "node:zlib";
import { errorRules } from "@baton/protocol";
import { RealClock, SeededRandom } from "@baton/runtime";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defaultBodyLimits } from "../../src/http/body-limits.ts";
import { bodySchemas } from "../../src/http/request-schema.ts";
import { detokenizeBodySchema, tokenizeBodySchema } from "../../src/http/tokenize-schema.ts";
import { loadTextModel } from "../../src/prepare/load-text-model.ts";
import { TextModels } from "../../src/prepare/text-models.ts";
import { ApiRig } from "../support/api-rig.ts";
import { byteArtifact } from "../support/byte-artifact.ts";
import { registrationOf } from "../support/fake-view.ts";
import { FuzzPort } from "../support/fuzz/fuzz-port.ts";
import { below, mutateBytes } from "../support/fuzz/mutate-bytes.ts";
import { mutateValue } from "../support/fuzz/mutate-value.ts";
import { Pipeline } from "../support/fuzz/pipeline.ts";
import { type JsonSchema, valuesOf } from "../support/fuzz/schema-values.ts";
import { heldBytes } from "../support/held-bytes.ts";
import { chatRequest, type RawAnswer, RawClient } from "../support/raw-client.ts";

/** Bodies in one run; `BATON_FUZZ_INPUTS` sets another number, and `BATON_FUZZ_SEED` other bodies. */
const inputs = Number(process.env.BATON_FUZZ_INPUTS ?? 100_000);
const seed = Number(process.env.BATON_FUZZ_SEED ?? 1);
/** Requests whose heads are broken too: each takes a connection of its own. */
const heads = Math.ceil(inputs / 50);
const basesPerEndpoint = 1_000;

const chat = {
  model: "m",
  messages: [
    { role: "system", content: 'Be \u00e9. "Quote" \\ {[' },
    { role: "user", content: [{ type: "text", text: "Hi" }], name: "n" },
  ],
  max_tokens: 8,
};
/** Bodies that are served. */
const served: Readonly<Record<string, readonly object[]>> = {
  "/v1/chat/completions": [
    chat,
    { ...chat, stream: true, stream_options: { include_usage: true }, logprobs: true },
    { ...chat, n: 3, logprobs: true, top_logprobs: 2, stop: ["a"], logit_bias: { 65: 1 } },
    { ...chat, temperature: 0.5, top_p: 0.9, seed: 7, user: "u", baton: { include: ["timing"] } },
  ],
  "/v1/completions": [
    { model: "m", prompt: "Hello", max_tokens: 4 },
    { model: "m", prompt: ["a", "b"], max_tokens: 4, echo: true, logprobs: 2, stream: true },
    { model: "m", prompt: [[1, 2], [3]], max_tokens: 4, n: 2 },
  ],
  "/inference/v1/generate": [
    { model: "m", token_ids: [1, 2, 3], sampling_params: { max_tokens: 4 } },
  ],
  "/tokenize": [{ model: "m", prompt: "Hello", return_token_strs: true }],
  "/detokenize": [{ model: "m", tokens: [72, 105] }],
};

interface Base {
  readonly path: string;
  readonly value: unknown;
  readonly bytes: Buffer;
}

/** Bodies that every kind of mistake is made in, the same ones for a seed. */
function basesOf(path: string, schema: z.ZodType): readonly Base[] {
  const json = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema;
  const sampled = fc.sample(valuesOf(json), { numRuns: basesPerEndpoint, seed });
  const known = served[path] ?? [];
  const often = Array.from({ length: 500 }, (_, at) => known[at % known.length]);
  return [...often, ...sampled].map((value) => ({
    path,
    value,
    bytes: Buffer.from(JSON.stringify(value) ?? "null"),
  }));
}

/** One request with one body, most of them with a mistake. */
function inputOf(bases: readonly Base[], random: SeededRandom): Buffer {
  const one = pick(bases, random);
  const other = pick(bases, random);
  let body = one.bytes;
  switch (below(random, 5)) {
    case 0:
      break;
    case 1:
    case 2:
      body = Buffer.from(JSON.stringify(mutateValue(one.value, other.value, random)) ?? "null");
      break;
    default:
      body = mutateBytes(one.bytes, other.bytes, random);
  }
  // Refused by its length it would end the connection, which others share.
  body = body.subarray(0, 1_000_000);
  const isFolded = below(random, 50) === 0;
  const sent = isFolded ? gzipSync(body, { level: 1 }) : body;
  const head = `POST ${one.path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${isFolded ? "content-encoding: gzip\r\n" : ""}content-length: ${sent.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), sent]);
}

function pick<T>(list: readonly T[], random: SeededRandom): T {
  const one = list[below(random, list.length)];
  if (one === undefined) throw new Error("an empty list");
  return one;
}

/** Words that only we or our libraries know. */
const internals =
  /zod|\bundefined\b|is not a function|not iterable|\bNaN\b|Invalid input|Cannot (read|convert)|\[object|node:|\.ts\b|Map maximum|call stack/i;

/** What is wrong with an answer, whatever was asked. */
function problemOf({ status, headers, body }: RawAnswer): string | null {
  if (headers["x-request-id"] === undefined) return "has no x-request-id";
  // One of several prompts may turn out to be at fault when another has begun.
  const late = /^event: error\ndata: (.*)$/m.exec(body)?.[1];
  if (status === 200 && late === undefined) return null;
  if (late === undefined && (status < 400 || status >= 500)) return `has the status ${status}`;
  const { error } = JSON.parse(late ?? body);
  if (!Object.hasOwn(errorRules, error.code)) return `has the code ${error.code}`;
  const rule = errorRules[error.code as keyof typeof errorRules];
  if (late === undefined ? rule.status !== status : rule.status >= 500) {
    return `has the code ${error.code} with ${status}`;
  }
  if (typeof error.message !== "string" || error.message === "") return "has no message";
  // What the parser says of a text quotes it, and so do we.
  const isQuote = error.message.startsWith("the body is not JSON");
  const said = isQuote ? "" : error.message.replace(/'.*'|".*"/s, "");
  return internals.test(said) ? `speaks of internals: ${said}` : null;
}

describe("bodies at random", () => {
  const rig = new ApiRig({
    maxBodyBytes: 1_000_000,
    maxInFlight: 1_000,
    clientBufferBytes: 100_000_000,
  });
  const { card } = registrationOf({
    id: "a1",
    type: "aggregated",
    card: {
      contextLength: 4_096,
      capabilities: [
        "n",
        "logprobs",
        "seed",
        "logit_bias",
        "grammar",
        "prompt_logprobs",
        "stop_token_ids",
        "top_k",
      ],
    },
  });
  let port: FuzzPort;

  beforeAll(async () => {
    const text = await loadTextModel(new RealClock(), byteArtifact());
    port = new FuzzPort(new TextModels(1, () => Promise.resolve(text)), card);
    rig.port.submit = (request, sink) => port.submit(request, sink);
    rig.port.explain = (request) => port.explain(request);
    await rig.start();
  });

  afterAll(() => rig.server.stop());

  it(`get an answer that is theirs: ${inputs} of them, with seed ${seed}`, async () => {
    const schemas = bodySchemas(defaultBodyLimits);
    const bases = [
      ...basesOf("/v1/chat/completions", schemas.chat),
      ...basesOf("/v1/completions", schemas.completions),
      ...basesOf("/inference/v1/generate", schemas.generate),
      ...basesOf("/tokenize", tokenizeBodySchema),
      ...basesOf("/detokenize", detokenizeBodySchema),
    ];
    const random = new SeededRandom(`bodies ${seed}`);
    const problems: string[] = [];
    const statuses = new Map<number, number>();
    const lanes = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const open: Buffer[] = [];
        const pipeline = await Pipeline.open(rig.url, 32, (_at, answer) => {
          const request = open.shift();
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          const problem = problemOf(answer);
          if (problem !== null) problems.push(`${problem}: ${request?.toString("latin1")}`);
        });
        return { open, pipeline };
      }),
    );
    const send = async (count: number) => {
      for (let sent = 0; sent < count && problems.length < 10; sent += 1) {
        const request = inputOf(bases, random);
        const lane = lanes[sent % lanes.length];
        lane?.open.push(request);
        await lane?.pipeline.send(request);
        rig.counted.length = 0;
      }
    };

    await send(Math.ceil(inputs / 4));
    const before = await heldBytes();
    await send(inputs - Math.ceil(inputs / 4));
    const after = await heldBytes();
    for (const { pipeline } of lanes) await pipeline.finish();

    expect(problems).toEqual([]);
    expect([port.broken, rig.logged]).toEqual([[], []]);
    expect([...statuses.values()].reduce((sum, count) => sum + count)).toBe(inputs);
    // Both sides were really seen.
    expect(statuses.get(200)).toBeGreaterThan(inputs / 20);
    expect(statuses.get(400)).toBeGreaterThan(inputs / 5);
    expect(after - before).toBeLessThan(8e6);
  }, 600_000);

  it(`and bytes that are hardly HTTP, ${heads} of them`, async () => {
    const random = new SeededRandom(`heads ${seed}`);
    const bases = [
      chatRequest(JSON.stringify(chat)),
      chatRequest(JSON.stringify(chat), { expect: "100-continue", connection: "close" }),
      chatRequest(`5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n`, {
        "content-length": null,
        "transfer-encoding": "chunked",
      }),
      `GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n${chatRequest(JSON.stringify({ ...chat, stream: true }))}`,
      "OPTIONS /live HTTP/1.1\r\nhost: x\r\norigin: https://a.example\r\naccess-control-request-method: GET\r\n\r\n",
      "GET /v1/models/m HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    ].map((text) => Buffer.from(text, "latin1"));
    const problems: string[] = [];

    const ask = async (): Promise<void> => {
      const bytes = mutateBytes(pick(bases, random), pick(bases, random), random);
      const client = new RawClient(rig.url);
      client.send(bytes).socket.end();
      try {
        for (const answer of await client.toEnd()) {
          const problem = problemOf({
            ...answer,
            headers: { "x-request-id": "", ...answer.headers },
          });
          if (problem !== null) problems.push(`${problem}: ${bytes.toString("latin1")}`);
        }
      } catch (error) {
        problems.push(`${String(error)}: ${bytes.toString("latin1")}`);
      }
      client.close();
    };
    for (let asked = 0; asked < heads && problems.length < 10; asked += 16) {
      await Promise.all(Array.from({ length: 16 }, ask));
    }

    expect(problems).toEqual([]);
    expect([port.broken, rig.logged]).toEqual([[], []]);
    expect((await fetch(`${rig.url}/live`)).status).toBe(200);
  }, 300_000);
});
