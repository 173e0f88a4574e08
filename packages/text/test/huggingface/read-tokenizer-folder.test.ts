import { describe, expect, it } from "vitest";
import { readTokenizerFolder, type TokenizerFolder } from "../../src/index.ts";
import { makeModelConfig, readMakeModelJson } from "../support/tokenizer-json.ts";

const tokenizerJson = readMakeModelJson();

function read(folder: Omit<TokenizerFolder, "tokenizerJson"> = {}) {
  return readTokenizerFolder({ tokenizerJson, ...folder });
}

describe("readTokenizerFolder", () => {
  it("reads the files as text or as parsed JSON", () => {
    const parsed = read({
      tokenizerConfig: makeModelConfig,
      generationConfig: { eos_token_id: 2 },
    });
    const text = readTokenizerFolder({
      tokenizerJson: JSON.stringify(tokenizerJson),
      tokenizerConfig: JSON.stringify(makeModelConfig),
      generationConfig: '{"eos_token_id": 2}',
    });
    expect(text).toEqual(parsed);
    expect(parsed).toMatchObject({
      bosId: 1,
      eosId: 2,
      endOfGenerationIds: [0, 2],
      preTokenizer: { kind: "family", family: "gpt-2" },
      normalizer: "none",
      chatTemplate: makeModelConfig.chat_template,
    });
  });

  it("does without the other files", () => {
    expect(read()).toMatchObject({
      bosId: null,
      eosId: null,
      chatTemplate: null,
      endOfGenerationIds: [0, 2],
    });
  });

  it("reads special tokens written as objects, and ids of the generation config where the other has none", () => {
    const eos = { content: "<|im_end|>", lstrip: false };
    expect(
      read({ tokenizerConfig: { eos_token: eos }, generationConfig: { bos_token_id: 1 } }),
    ).toMatchObject({
      bosId: 1,
      eosId: 2,
    });
    expect(read({ generationConfig: { eos_token_id: [2, 100] } })).toMatchObject({
      eosId: 2,
      endOfGenerationIds: [0, 2, 100],
    });
  });

  it("takes the template of its own file first, and the default one of several", () => {
    const config = {
      chat_template: [
        { name: "tool_use", template: "t" },
        { name: "default", template: "d" },
      ],
    };
    expect(read({ tokenizerConfig: config }).chatTemplate).toBe("d");
    expect(read({ tokenizerConfig: config, chatTemplate: "own" }).chatTemplate).toBe("own");
  });

  it.each<[string, Omit<TokenizerFolder, "tokenizerJson">]>([
    ["tokenizer_config.json", { tokenizerConfig: "{" }],
    ["generation_config.json", { generationConfig: [] }],
    ["generation_config.eos_token_id", { generationConfig: { eos_token_id: "x" } }],
    ["special ids", { generationConfig: { eos_token_id: 9999 } }],
    [
      "tokenizer_config.chat_template",
      { tokenizerConfig: { chat_template: [{ name: "rag", template: "r" }] } },
    ],
    ["tokenizer_config.chat_template", { tokenizerConfig: { chat_template: 1 } }],
  ])("refuses a wrong %s and names it", (field, folder) => {
    expect(() => read(folder)).toThrow(`${field}: `);
  });

  it("refuses a tokenizer.json that is no JSON", () => {
    expect(() => readTokenizerFolder({ tokenizerJson: "not JSON" })).toThrow(/^tokenizer\.json: /);
  });
});
