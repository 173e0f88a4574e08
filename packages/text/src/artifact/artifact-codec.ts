import { pack, unpack } from "@baton/protocol";
import { isPreTokenizerFamily, type SplitRule } from "../scan/split-rules.ts";
import { TokenizerFormatError } from "../tokenizer-format-error.ts";
import { packIds, packLengths, UnpackIds, UnpackLengths } from "./id-packing.ts";
import {
  type AddedToken,
  type Normalizer,
  type PreTokenizer,
  type TokenizerArtifact,
  vocabularySize,
} from "./tokenizer-artifact.ts";

const format = "baton-tokenizer";
const version = 1;

const specialBit = 1;
const normalizedBit = 2;

// v1: { format, version, tokenBytes, tokenLengths (LEB128 each), merges (2 or 3 bytes an id, little endian),
//       ignoreMerges, added: [[id, content, special | normalized << 1], ...], preTokenizer: family or
//       [["pattern", source] | ["digits", individual], ...], normalizer, keepsUnknownBytes? (only
//       if true), prefixIds, suffixIds, bosId, eosId, endOfGenerationIds, chatTemplate }

/** The compact form of a tokenizer: one msgpack map, the same bytes for the same artifact. */
export function encodeTokenizerArtifact(artifact: TokenizerArtifact): Uint8Array {
  return pack({
    format,
    version,
    tokenBytes: artifact.tokenBytes,
    tokenLengths: packLengths(artifact.tokenOffsets),
    merges: packIds(artifact.merges, vocabularySize(artifact)),
    ignoreMerges: artifact.ignoreMerges,
    added: artifact.addedTokens.map((token) => [
      token.id,
      token.content,
      (token.special ? specialBit : 0) | (token.normalized ? normalizedBit : 0),
    ]),
    preTokenizer: encodePreTokenizer(artifact.preTokenizer),
    normalizer: artifact.normalizer,
    ...(artifact.keepsUnknownBytes === true ? { keepsUnknownBytes: true } : {}),
    prefixIds: [...artifact.prefixIds],
    suffixIds: [...artifact.suffixIds],
    bosId: artifact.bosId,
    eosId: artifact.eosId,
    endOfGenerationIds: [...artifact.endOfGenerationIds],
    chatTemplate: artifact.chatTemplate,
  });
}

function encodePreTokenizer(preTokenizer: PreTokenizer): unknown {
  if (preTokenizer.kind === "family") {
    return preTokenizer.family;
  }
  return preTokenizer.rules.map((rule) =>
    rule.kind === "pattern" ? ["pattern", rule.source] : ["digits", rule.individual],
  );
}

/**
 * Reads the compact form in steps. Byte fields of the result are views into the bytes.
 *
 * Constructor and steps throw `TokenizerFormatError` naming the field if the bytes are no artifact, of another version, or
 * contradict themselves (an id out of range, lengths that do not add up).
 */
export class TokenizerArtifactDecoding {
  private readonly map: Record<string, unknown>;
  private readonly tokenBytes: Uint8Array;
  private readonly lengths: UnpackLengths;
  private merges: UnpackIds | undefined;

  constructor(bytes: Uint8Array) {
    const map = readMap(bytes);
    if (map.format !== format) {
      throw new TokenizerFormatError("format", "not a tokenizer artifact");
    }
    if (map.version !== version) {
      throw new TokenizerFormatError(
        "version",
        `${String(map.version)} is not supported, only ${version}`,
      );
    }
    this.map = map;
    this.tokenBytes = readBytes(map, "tokenBytes");
    this.lengths = new UnpackLengths(readBytes(map, "tokenLengths"), this.tokenBytes.length);
  }

  /** Reads at most `maxItems` token lengths, or ids of merges. True when all are read. */
  step(maxItems: number): boolean {
    if (this.merges !== undefined) {
      return this.merges.step(maxItems);
    }
    if (this.lengths.step(maxItems)) {
      const size = this.lengths.offsets.length - 1;
      this.merges = new UnpackIds(readBytes(this.map, "merges"), size);
    }
    return false;
  }

  /** The artifact, once `step` has returned true. */
  finish(): TokenizerArtifact {
    const { map, tokenBytes } = this;
    const tokenOffsets = this.lengths.offsets;
    const size = tokenOffsets.length - 1;
    return {
      tokenBytes,
      tokenOffsets,
      merges: this.merges?.ids ?? new Uint32Array(),
      ignoreMerges: readBoolean(map, "ignoreMerges"),
      addedTokens: readArray(map, "added").map((entry, index) => readAdded(entry, index, size)),
      preTokenizer: readPreTokenizer(map.preTokenizer),
      normalizer: readNormalizer(map.normalizer),
      ...(map.keepsUnknownBytes === true ? { keepsUnknownBytes: true } : {}),
      prefixIds: readIds(map, "prefixIds", size),
      suffixIds: readIds(map, "suffixIds", size),
      bosId: map.bosId === null ? null : readId(map.bosId, "bosId", size),
      eosId: map.eosId === null ? null : readId(map.eosId, "eosId", size),
      endOfGenerationIds: readIds(map, "endOfGenerationIds", size),
      chatTemplate: map.chatTemplate === null ? null : readString(map.chatTemplate, "chatTemplate"),
    };
  }
}

/** Reads the compact form at once. Throws as `TokenizerArtifactDecoding` does. */
export function decodeTokenizerArtifact(bytes: Uint8Array): TokenizerArtifact {
  const decoding = new TokenizerArtifactDecoding(bytes);
  while (!decoding.step(Number.POSITIVE_INFINITY)) {
    // First the lengths, then the merges.
  }
  return decoding.finish();
}

function readMap(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = unpack(bytes);
  } catch (cause) {
    throw new TokenizerFormatError("format", `not msgpack (${String(cause)})`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TokenizerFormatError("format", "not a map");
  }
  return value as Record<string, unknown>;
}

function readBytes(map: Record<string, unknown>, field: string): Uint8Array {
  const value = map[field];
  if (value instanceof Uint8Array) {
    return value;
  }
  throw new TokenizerFormatError(field, "not bytes");
}

function readBoolean(map: Record<string, unknown>, field: string): boolean {
  const value = map[field];
  if (typeof value === "boolean") {
    return value;
  }
  throw new TokenizerFormatError(field, "not a boolean");
}

function readArray(map: Record<string, unknown>, field: string): readonly unknown[] {
  const value = map[field];
  if (Array.isArray(value)) {
    return value as unknown[];
  }
  throw new TokenizerFormatError(field, "not an array");
}

function readString(value: unknown, field: string): string {
  if (typeof value === "string") {
    return value;
  }
  throw new TokenizerFormatError(field, "not a string");
}

function readId(value: unknown, field: string, size: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < size) {
    return value;
  }
  throw new TokenizerFormatError(field, `${String(value)} is no id of a vocabulary of ${size}`);
}

function readIds(map: Record<string, unknown>, field: string, size: number): number[] {
  return readArray(map, field).map((value) => readId(value, field, size));
}

function readAdded(entry: unknown, index: number, size: number): AddedToken {
  const field = `added[${index}]`;
  if (!Array.isArray(entry) || typeof entry[2] !== "number") {
    throw new TokenizerFormatError(field, "not [id, content, flags]");
  }
  return {
    id: readId(entry[0], field, size),
    content: readString(entry[1], field),
    special: (entry[2] & specialBit) !== 0,
    normalized: (entry[2] & normalizedBit) !== 0,
  };
}

function readNormalizer(value: unknown): Normalizer {
  if (value === "none" || value === "nfc") {
    return value;
  }
  throw new TokenizerFormatError("normalizer", `${String(value)} is not supported`);
}

function readPreTokenizer(value: unknown): PreTokenizer {
  if (isPreTokenizerFamily(value)) {
    return { kind: "family", family: value };
  }
  if (!Array.isArray(value)) {
    throw new TokenizerFormatError("preTokenizer", `${String(value)} is not supported`);
  }
  return { kind: "rules", rules: value.map(readRule) };
}

function readRule(value: unknown): SplitRule {
  const [kind, argument] = Array.isArray(value) ? (value as unknown[]) : [];
  if (kind === "pattern" && typeof argument === "string") {
    return { kind, source: argument };
  }
  if (kind === "digits" && typeof argument === "boolean") {
    return { kind, individual: argument };
  }
  throw new TokenizerFormatError("preTokenizer", "a rule is neither a pattern nor digits");
}
