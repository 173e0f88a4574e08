import { type TokenizerArtifact, vocabularySize } from "./artifact/tokenizer-artifact.ts";
import type { BpeModel } from "./bpe/bpe-model.ts";
import { BpeModelBuild } from "./bpe/build-bpe-model.ts";
import { EncodeJob, type EncodingTables, makeMatchers } from "./encode/encode-job.ts";
import { scannerMaker } from "./scan/make-scanner.ts";
import type { WordScanner } from "./scan/scan-runs.ts";
import { Detokenizer, type DetokenizerOptions } from "./stream/detokenizer.ts";
import { TokenTexts } from "./stream/token-texts.ts";
import { characterFlags } from "./unicode/character-flags.ts";

/** How a text is encoded. */
export interface EncodeOptions {
  /** Whether the model's own prefix (BOS) and suffix are added. Default false: chat templates write them. */
  readonly addSpecial?: boolean;
}

/** Texts up to this many UTF-16 units are encoded in a shared buffer. */
const sharedBufferUnits = 65_536;

/**
 * An exact byte-level BPE tokenizer: the same ids as the library that the model was trained with.
 *
 * A text that spells a special token becomes that token.
 */
export class Tokenizer {
  /** How many ids there are, unused ones included. */
  readonly vocabularySize: number;
  readonly bosId: number | null;
  readonly eosId: number | null;
  /** The texts of BOS and EOS, as chat templates write them; empty if the model has none. */
  readonly bosToken: string;
  readonly eosToken: string;
  /** Every id at which a generation ends. */
  readonly endOfGenerationIds: ReadonlySet<number>;
  /** The Jinja source of the chat template. */
  readonly chatTemplate: string | null;
  private readonly tables: EncodingTables;
  private readonly texts: TokenTexts;
  private readonly addedIds: ReadonlyMap<string, number>;
  /** Held by one `encode` call at a time. */
  private readonly buffer = new Uint16Array(sharedBufferUnits);

  constructor(artifact: TokenizerArtifact, model: BpeModel, makeScanner: () => WordScanner) {
    const normalize = artifact.normalizer === "nfc";
    this.tables = {
      model,
      flags: characterFlags(),
      makeScanner,
      normalize,
      ...makeMatchers(artifact.addedTokens, normalize),
      prefixIds: artifact.prefixIds,
      suffixIds: artifact.suffixIds,
    };
    this.texts = new TokenTexts(artifact);
    this.addedIds = new Map(artifact.addedTokens.map((token) => [token.content, token.id]));
    this.vocabularySize = vocabularySize(artifact);
    this.bosId = artifact.bosId;
    this.eosId = artifact.eosId;
    this.bosToken = this.tokenText(artifact.bosId ?? -1);
    this.eosToken = this.tokenText(artifact.eosId ?? -1);
    this.endOfGenerationIds = new Set(artifact.endOfGenerationIds);
    this.chatTemplate = artifact.chatTemplate;
  }

  /** The ids of a text. For text of unknown length use `encodeJob`: 8,000 tokens take about 1 ms. */
  encode(text: string, options: EncodeOptions = {}): Uint32Array {
    const buffer = text.length <= sharedBufferUnits ? this.buffer : undefined;
    const job = new EncodeJob(this.tables, text, options.addSpecial ?? false, buffer);
    job.step(Number.POSITIVE_INFINITY);
    return job.ids();
  }

  /** Encodes in steps: call `step(256)` until it returns true and let others run in between, then take `ids()`. */
  encodeJob(text: string, options: EncodeOptions = {}): EncodeJob {
    return new EncodeJob(this.tables, text, options.addSpecial ?? false);
  }

  /** A detokenizer for one sequence. */
  detokenizer(options: DetokenizerOptions = {}): Detokenizer {
    return new Detokenizer(this.texts, options);
  }

  /** The text of a whole list of ids. */
  decode(ids: ArrayLike<number>, options: DetokenizerOptions = {}): string {
    const detokenizer = this.detokenizer(options);
    return detokenizer.pushAll(ids) + detokenizer.flush();
  }

  /** The bytes of one token: a view, empty for an id out of range. */
  tokenBytes(id: number): Uint8Array {
    return this.texts.bytes(id);
  }

  /** One token as text by itself; bytes that are no UTF-8 read as U+FFFD. Empty for an id out of range. */
  tokenText(id: number): string {
    return this.decode([id], { skipSpecial: false });
  }

  /** Whether a token only marks structure. */
  isSpecial(id: number): boolean {
    return this.texts.isSpecial(id);
  }

  /** The id of an added token (`<|im_end|>`) by its text. */
  addedTokenId(content: string): number | undefined {
    return this.addedIds.get(content);
  }
}

/** Makes a tokenizer in steps. */
export class TokenizerBuild {
  private readonly artifact: TokenizerArtifact;
  private readonly build: BpeModelBuild;
  private readonly makeScanner: () => WordScanner;

  /** Throws `TokenizerFormatError` if the pre-tokenizer is not supported. */
  constructor(artifact: TokenizerArtifact) {
    this.artifact = artifact;
    this.makeScanner = scannerMaker(artifact.preTokenizer);
    this.build = new BpeModelBuild(artifact);
  }

  /** Enters at most `maxItems` tokens and merges (20,000 take about 2 ms). True when all are entered. */
  step(maxItems: number): boolean {
    return this.build.step(maxItems);
  }

  /** The tokenizer, once `step` has returned true. */
  finish(): Tokenizer {
    return new Tokenizer(this.artifact, this.build.finish(), this.makeScanner);
  }
}

/** Makes a tokenizer at once: 10 to 40 ms for 128,000 tokens. Throws `TokenizerFormatError` for a broken artifact. */
export function createTokenizer(artifact: TokenizerArtifact): Tokenizer {
  const build = new TokenizerBuild(artifact);
  build.step(Number.POSITIVE_INFINITY);
  return build.finish();
}
