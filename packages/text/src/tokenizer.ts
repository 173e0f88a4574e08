import { type TokenizerArtifact, vocabularySize } from "./artifact/tokenizer-artifact.ts";
import type { BpeModel } from "./bpe/bpe-model.ts";
import { BpeModelBuild } from "./bpe/build-bpe-model.ts";
import { EncodeJob, type EncodingTables, makeMatchers } from "./encode/encode-job.ts";
import type { KnownPrefixes } from "./prefix/prefix-reuse.ts";
import { PrefixTrie } from "./prefix/prefix-trie.ts";
import { type SettledCuts, settledCutsOf } from "./prefix/settled-cuts.ts";
import { scannerMaker } from "./scan/make-scanner.ts";
import type { WordScanner } from "./scan/scan-runs.ts";
import { Detokenizer, type DetokenizerOptions } from "./stream/detokenizer.ts";
import { TokenTexts } from "./stream/token-texts.ts";
import { characterFlags } from "./unicode/character-flags.ts";
import { WarmUp } from "./warm-up.ts";

/** How a text is encoded. */
export interface EncodeOptions {
  /** Whether the model's own prefix (BOS) and suffix are added. Default false: chat templates write them. */
  readonly addSpecial?: boolean;
}

/** What a tokenizer keeps between texts. */
export interface TokenizerOptions {
  /** How much memory the ids of known beginnings of texts may take, bytes. Default 0: nothing is kept. */
  readonly prefixBytes?: number;
  /** The length of the pieces in which beginnings are kept, UTF-16 units. Default 1,024. */
  readonly prefixPieceUnits?: number;
}

/** Texts up to this many UTF-16 units are encoded in a shared buffer. */
const sharedBufferUnits = 65_536;
const warmUpPrefixBytes = 2 ** 20;

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
  private readonly cuts: SettledCuts | undefined;
  private readonly prefixes: KnownPrefixes | undefined;
  /** Held by one `encode` call at a time. */
  private readonly buffer = new Uint16Array(sharedBufferUnits);

  constructor(
    artifact: TokenizerArtifact,
    model: BpeModel,
    makeScanner: () => WordScanner,
    options: TokenizerOptions,
  ) {
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
    this.cuts = settledCutsOf(artifact);
    this.prefixes = this.makePrefixes(options.prefixBytes ?? 0, options.prefixPieceUnits);
  }

  /** The ids of a text. For text of unknown length use `encodeJob`: 8,000 tokens take about 1 ms. */
  encode(text: string, options: EncodeOptions = {}): Uint32Array {
    const buffer = text.length <= sharedBufferUnits ? this.buffer : undefined;
    const job = this.startJob(text, options.addSpecial ?? false, this.prefixes, buffer);
    job.step(Number.POSITIVE_INFINITY);
    return job.ids();
  }

  /** Encodes in steps: call `step(256)` until it returns true and let others run in between, then take `ids()`. */
  encodeJob(text: string, options: EncodeOptions = {}): EncodeJob {
    return this.startJob(text, options.addSpecial ?? false, this.prefixes);
  }

  /**
   * Work that makes the first texts as fast as later ones: encodes about 150 kB of the vocabulary's own words, in steps of
   * about `maxWords` words. Takes about 40 ms in a fresh process and 10 ms in one that is warm. What it encodes is not kept.
   */
  warmUp(): WarmUp {
    const prefixes = this.makePrefixes(warmUpPrefixBytes);
    return new WarmUp(
      { decode: (ids) => this.decode(ids), vocabularySize: this.vocabularySize },
      (text) => this.startJob(text, false, prefixes),
    );
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

  private startJob(
    text: string,
    addSpecial: boolean,
    prefixes: KnownPrefixes | undefined,
    buffer?: Uint16Array,
  ): EncodeJob {
    return new EncodeJob(this.tables, text, { addSpecial, prefixes, buffer });
  }

  private makePrefixes(maxBytes: number, pieceUnits?: number): KnownPrefixes | undefined {
    return this.cuts === undefined || maxBytes === 0
      ? undefined
      : { trie: new PrefixTrie(maxBytes, pieceUnits), cuts: this.cuts };
  }
}

/** Makes a tokenizer in steps. */
export class TokenizerBuild {
  private readonly artifact: TokenizerArtifact;
  private readonly build: BpeModelBuild;
  private readonly makeScanner: () => WordScanner;
  private readonly options: TokenizerOptions;
  private flags: Uint8Array | undefined;

  /** Throws `TokenizerFormatError` if the pre-tokenizer is not supported. */
  constructor(artifact: TokenizerArtifact, options: TokenizerOptions = {}) {
    this.artifact = artifact;
    this.options = options;
    this.makeScanner = scannerMaker(artifact.preTokenizer);
    this.build = new BpeModelBuild(artifact);
  }

  /** Enters at most `maxItems` tokens and merges (2,000 take about 0.3 ms). True when all are entered. */
  step(maxItems: number): boolean {
    if (this.flags === undefined) {
      // Made once per process, in 2 to 5 ms: a step of its own.
      this.flags = characterFlags();
      return false;
    }
    return this.build.step(maxItems);
  }

  /** The tokenizer, once `step` has returned true. */
  finish(): Tokenizer {
    return new Tokenizer(this.artifact, this.build.finish(), this.makeScanner, this.options);
  }
}

/** Makes a tokenizer at once: 10 to 40 ms for 128,000 tokens. Throws `TokenizerFormatError` for a broken artifact. */
export function createTokenizer(
  artifact: TokenizerArtifact,
  options: TokenizerOptions = {},
): Tokenizer {
  const build = new TokenizerBuild(artifact, options);
  while (!build.step(Number.POSITIVE_INFINITY)) {
    // The first step makes what all tokenizers share.
  }
  return build.finish();
}
