import { createHash } from "node:crypto";
import type { ModelName, WorkerRegistration, WorkerType } from "@baton/protocol";
import type { ActorContext } from "@baton/runtime";
import type { WorkerConfig } from "./config.ts";
import type { EngineCard } from "./engine.ts";

/** What a registration is made from. */
export interface RegistrationFacts {
  readonly context: ActorContext;
  readonly config: WorkerConfig;
  readonly model: ModelName;
  readonly card: EngineCard;
  readonly tokenizerChecksum: string;
  readonly generation: number;
}

/** Hex SHA-256: the name of an artifact. */
export function checksumOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
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
      modelType: ["chat", "completions"],
      engine: card.engine,
      blockSize: card.blockSize,
      hashSalt: "",
      contextLength: card.contextLength,
      tokenizerChecksum: facts.tokenizerChecksum,
      descriptor: card.descriptor === null ? null : { ...card.descriptor },
      capabilities: [...card.capabilities],
    },
    capacity: {
      totalBlocks: card.totalBlocks,
      maxSequences: card.maxSequences,
      maxBatchedTokens: card.maxBatchedTokens,
      dpStartRank: 0,
      dpSize: card.dpSize,
    },
    topology: { ...config.topology },
    taints: [],
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
