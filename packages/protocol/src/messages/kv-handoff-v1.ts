import type { HandoffId, WorkerId } from "../ids.ts";
import { arrayMessage, type FieldReader, type MessageType } from "../message-type.ts";
import { type OutputToken, readOutputTokens, writeOutputTokens } from "./output-token.ts";

/** Who moves the KV: the engines, Baton over TCP in blocks, or Baton through a shared directory. */
export type KvTransport = "engine" | "blocks" | "file";

/** A ticket for one staged KV cache. Single use. Travels inside `prefill-done` and `decode`, unopened by routers. */
export interface KvHandoff {
  readonly handoffId: HandoffId;
  readonly prefillWorkerId: WorkerId;
  readonly prefillGeneration: number;
  readonly dpRank: number;
  readonly transport: KvTransport;
  /** `host:port` of the transfer port; null for transport `engine`. */
  readonly address: string | null;
  /** One-time secret that a pull must show; null for transport `engine`. */
  readonly secret: Uint8Array | null;
  /** Size of all staged KV in bytes, and in full blocks. */
  readonly bytes: number;
  readonly blocks: number;
  /** What the bytes are, by field: compared by the decode worker before anything moves. */
  readonly descriptor: Readonly<Record<string, string | number | boolean>> | null;
  /** When the prefill worker frees the KV by itself, epoch ms by the prefill worker's clock. */
  readonly expiresAtMs: number;
  /** The first sampled token of each choice, in order of choice. */
  readonly firstTokens: readonly OutputToken[];
  readonly promptTokens: number;
  /** Prompt tokens that prefill did not compute because its cache held them. */
  readonly cachedTokens: number;
  /** The engine's own parameters, opaque: relayed whole or not at all. */
  readonly engineParams: Uint8Array | null;
}

// v1: [handoffId, prefillWorkerId, prefillGeneration, dpRank, transport, address, secret, bytes, blocks,
//      descriptor, expiresAtMs, firstTokens, promptTokens, cachedTokens, engineParams]
export const KvHandoff: MessageType<KvHandoff> = arrayMessage(
  "kv-handoff",
  1,
  [
    "handoffId",
    "prefillWorkerId",
    "prefillGeneration",
    "dpRank",
    "transport",
    "address",
    "secret",
    "bytes",
    "blocks",
    "descriptor",
    "expiresAtMs",
    "firstTokens",
    "promptTokens",
    "cachedTokens",
    "engineParams",
  ],
  (ticket) => [
    ticket.handoffId,
    ticket.prefillWorkerId,
    ticket.prefillGeneration,
    ticket.dpRank,
    ticket.transport,
    ticket.address,
    ticket.secret,
    ticket.bytes,
    ticket.blocks,
    ticket.descriptor,
    ticket.expiresAtMs,
    writeOutputTokens(ticket.firstTokens),
    ticket.promptTokens,
    ticket.cachedTokens,
    ticket.engineParams,
  ],
  readTicket,
);

function readTicket(fields: FieldReader): KvHandoff {
  return {
    handoffId: fields.string<HandoffId>(0),
    prefillWorkerId: fields.string<WorkerId>(1),
    prefillGeneration: fields.count(2),
    dpRank: fields.count(3),
    transport: fields.string<KvTransport>(4),
    address: fields.optional(5, (reader, index) => reader.string(index)),
    secret: fields.optional(6, (reader, index) => reader.bytes(index)),
    bytes: fields.count(7),
    blocks: fields.count(8),
    descriptor: fields.optional(9, (reader, index) => reader.map(index)),
    expiresAtMs: fields.number(10),
    firstTokens: readOutputTokens(fields.array(11)),
    promptTokens: fields.count(12),
    cachedTokens: fields.count(13),
    engineParams: fields.optional(14, (reader, index) => reader.bytes(index)),
  };
}
