/**
 * Writes a Llama-type GGUF with random weights: under a megabyte, loadable by llama.cpp, good for tests
 * of everything but sense. `make-tiny-gguf.ts FILE [SEED]`.
 */

import { writeFileSync } from "node:fs";
import { argv, stdout } from "node:process";
import { pathToFileURL } from "node:url";
import { encodeGguf, type GgufTensor, type GgufValue } from "./gguf-writer.ts";
import { buildTinyVocabulary } from "./tiny-vocabulary.ts";

const width = 64;
const heads = 4;
const kvHeads = 2;
const headWidth = width / heads;
const feedForward = 128;
const layers = 4;
const vocabularySize = 640;
/** The most tokens that a sequence of the tiny model may have. */
export const tinyContextLength = 4096;

const chatTemplate =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content']" +
  " + '<|im_end|>' + '\n'}}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** The bytes of the model. Another seed gives other weights, so another model hash. */
export function makeTinyGguf(seed = 1): Uint8Array {
  return encodeGguf(metadata(seed), tensors(seed));
}

function metadata(seed: number): Map<string, GgufValue> {
  const u32 = (value: number): GgufValue => ({ type: "u32", value });
  const text = (value: string): GgufValue => ({ type: "string", value });
  const vocabulary = buildTinyVocabulary(vocabularySize);
  return new Map<string, GgufValue>([
    ["general.architecture", text("llama")],
    ["general.name", text(`tiny-random-${seed}`)],
    ["general.file_type", u32(1)],
    ["llama.block_count", u32(layers)],
    ["llama.context_length", u32(tinyContextLength)],
    ["llama.embedding_length", u32(width)],
    ["llama.feed_forward_length", u32(feedForward)],
    ["llama.attention.head_count", u32(heads)],
    ["llama.attention.head_count_kv", u32(kvHeads)],
    ["llama.attention.layer_norm_rms_epsilon", { type: "f32", value: 1e-5 }],
    ["llama.rope.freq_base", { type: "f32", value: 10_000 }],
    ["llama.rope.dimension_count", u32(headWidth)],
    ["llama.vocab_size", u32(vocabularySize)],
    ["tokenizer.ggml.model", text("gpt2")],
    ["tokenizer.ggml.pre", text("smollm")],
    ["tokenizer.ggml.tokens", { type: "strings", value: vocabulary.tokens }],
    ["tokenizer.ggml.token_type", { type: "i32s", value: vocabulary.types }],
    ["tokenizer.ggml.merges", { type: "strings", value: vocabulary.merges }],
    ["tokenizer.ggml.bos_token_id", u32(1)],
    ["tokenizer.ggml.eos_token_id", u32(2)],
    ["tokenizer.ggml.unknown_token_id", u32(0)],
    ["tokenizer.ggml.padding_token_id", u32(2)],
    ["tokenizer.ggml.add_bos_token", { type: "bool", value: false }],
    ["tokenizer.ggml.add_space_prefix", { type: "bool", value: false }],
    ["tokenizer.chat_template", text(chatTemplate)],
  ]);
}

function tensors(seed: number): GgufTensor[] {
  const random = randomNormals(seed);
  const ones = (name: string, size: number): GgufTensor => {
    return { name, shape: [size], values: new Float32Array(size).fill(1), type: "f32" };
  };
  /** Weights of a spread that keeps the size of what passes through. */
  const matrix = (name: string, from: number, to: number, gain: number): GgufTensor => {
    const values = Float32Array.from({ length: from * to }, () => (random() * gain) / from ** 0.5);
    return { name, shape: [from, to], values, type: "f16" };
  };
  const all = [matrix("token_embd.weight", width, vocabularySize, width ** 0.5)];
  for (let layer = 0; layer < layers; layer++) {
    const name = (part: string): string => `blk.${layer}.${part}.weight`;
    all.push(
      ones(name("attn_norm"), width),
      matrix(name("attn_q"), width, width, 2),
      matrix(name("attn_k"), width, kvHeads * headWidth, 2),
      matrix(name("attn_v"), width, kvHeads * headWidth, 1),
      matrix(name("attn_output"), width, width, 2),
      ones(name("ffn_norm"), width),
      matrix(name("ffn_gate"), width, feedForward, 1),
      matrix(name("ffn_up"), width, feedForward, 1),
      matrix(name("ffn_down"), feedForward, width, 2),
    );
  }
  all.push(ones("output_norm.weight", width), matrix("output.weight", width, vocabularySize, 2));
  return all;
}

/** Standard normal numbers that repeat from a seed. */
function randomNormals(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

if (argv[1] !== undefined && import.meta.url === pathToFileURL(argv[1]).href) {
  const [, , file, seed] = argv;
  if (file === undefined) {
    stdout.write("usage: make-tiny-gguf.ts FILE [SEED]\n");
  } else {
    writeFileSync(file, makeTinyGguf(seed === undefined ? 1 : Number(seed)));
  }
}
