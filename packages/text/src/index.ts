export {
  decodeTokenizerArtifact,
  encodeTokenizerArtifact,
  TokenizerArtifactDecoding,
} from "./artifact/artifact-codec.ts";
export {
  type AddedToken,
  type Normalizer,
  type PreTokenizer,
  type TokenizerArtifact,
  vocabularySize,
} from "./artifact/tokenizer-artifact.ts";
export type { EncodeJob } from "./encode/encode-job.ts";
export type { GgufFacts } from "./gguf/gguf-facts.ts";
export { type GgufTokenizerResult, readGgufTokenizer } from "./gguf/read-gguf-tokenizer.ts";
export { unsupportedGrammar } from "./grammar/grammar-errors.ts";
export {
  maxSchemaDepth,
  maxSchemaLength,
  readOutputShape,
} from "./grammar/read-output-shape.ts";
export {
  type ArrayShape,
  leastDepth,
  leastDepths,
  type ObjectShape,
  type OutputShape,
  type PropertyShape,
  type StringFormat,
  type ValueShape,
} from "./grammar/value-shape.ts";
export { readTokenizerFolder, type TokenizerFolder } from "./huggingface/read-tokenizer-folder.ts";
export type { PreTokenizerFamily, SplitRule } from "./scan/split-rules.ts";
export type { Detokenizer, DetokenizerOptions } from "./stream/detokenizer.ts";
export { StopMatcher, type StopResult } from "./stream/stop-matcher.ts";
export type { ChatMessage, ContentPart } from "./template/chat-message.ts";
export {
  type ChatTemplate,
  parseChatTemplate,
  type RenderOptions,
  type TemplateTokens,
} from "./template/chat-template.ts";
export { ChatTemplateError, type ChatTemplateFailure } from "./template/chat-template-error.ts";
export { type ChatTemplateCheck, checkChatTemplate } from "./template/check-chat-template.ts";
export { TemplateWarmUp } from "./template/template-warm-up.ts";
export {
  createTokenizer,
  type EncodeOptions,
  type Tokenizer,
  TokenizerBuild,
  type TokenizerOptions,
} from "./tokenizer.ts";
export { TokenizerFormatError } from "./tokenizer-format-error.ts";
