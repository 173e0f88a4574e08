import { createHash } from "node:crypto";
import type { ModelName, WorkerRegistration, WorkerType } from "@baton/protocol";
import type { ActorContext } from "@baton/runtime";
import { decodeTokenizerArtifact } from "@baton/text";
import type { WorkerConfig } from "./config.ts";
import type { EngineCard } from "./engine.ts";

/** What a registration is made from. */
export interface RegistrationFacts {
  readonly context: ActorContext;
  readonly config: WorkerConfig;
  readonly model: ModelName;
  readonly card: EngineCard;
  readonly artifact: ArtifactFacts;
  readonly generation: number;
}

/** What others are told of a tokenizer artifact. */
export interface ArtifactFacts {
  /** Hex SHA-256: its name. */
  readonly checksum: string;
  /** Endpoints that its model answers: a model without a chat template completes only. */
  readonly modelType: readonly string[];
}

/** Reads an artifact's facts, once per worker. Throws a `TokenizerFormatError` if it is none. */
export function readArtifact(bytes: Uint8Array): ArtifactFacts {
  const { chatTemplate } = decodeTokenizerArtifact(bytes);
  return {
    checksum: createHash("sha256").update(bytes).digest("hex"),
    modelType: chatTemplate === null ? ["completions"] : ["chat", "completions"],
  };
}

/** What Discovery is told of this worker. */
export function makeRegistration(facts: RegistrationFacts): WorkerRegistration {
  const { context, config, card } = facts;
  return {
    id: context.id,
    generation: facts.generation,
    namespace: context.namespace,
    workerType: config.workerType,
    set: setOf(config),
    needs: needsOf(config),
    card: {
      model: facts.model,
      modelType: [...facts.artifact.modelType],
      engine: card.engine,
      blockSize: card.blockSize,
      hashSalt: "",
      contextLength: card.contextLength,
      tokenizerChecksum: facts.artifact.checksum,
      descriptor: card.descriptor === null ? null : { ...card.descriptor },
      capabilities: [...card.capabilities],
      ...(config.routerConfig !== undefined && { routerConfig: config.routerConfig }),
    },
    capacity: {
      totalBlocks: card.totalBlocks,
      maxSequences: card.maxSequences,
      maxBatchedTokens: card.maxBatchedTokens,
      dpStartRank: 0,
      dpSize: card.dpSize,
    },
    topology: { ...config.topology },
    taints: [...new Set(config.taint)],
    kvTransfer:
      config.kvTransferDomain === undefined
        ? null
        : {
            domain: config.kvTransferDomain,
            enforcement: config.kvTransferEnforcement,
            preferredWeight: config.kvTransferPreferredWeight ?? null,
          },
    host: context.identity.host,
    pid: context.identity.pid,
    admin: context.identity.admin,
  };
}

/** The set's name: by default the worker's type. */
export function setOf(config: WorkerConfig): string {
  return config.set ?? config.workerType;
}

/** Which types of workers must live for this one to serve, as OR of ANDs. */
export function needsOf(config: WorkerConfig): WorkerType[][] {
  switch (config.workerType) {
    case "prefill":
      return [["decode"]];
    case "decode":
      return config.decodeOnly ? [] : [["prefill"]];
    case "aggregated":
      return [];
  }
}
