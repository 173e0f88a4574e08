// Hot path: each handler once per request. Budget 50 µs. Bench: bench/handlers.bench.ts
import {
  Abort,
  Artifact,
  Decode,
  Extend,
  Generate,
  GetArtifact,
  GetFrames,
  GetKvEvents,
  KvHistory,
  MissingFrames,
  malformed,
  Prefill,
  Release,
} from "@baton/protocol";
import type { BusMessage } from "@baton/runtime";
import { admit } from "./admission.ts";
import { importAndDecode } from "./import-kv.ts";
import { cancelRequest } from "./request-end.ts";
import type { WorkerState } from "./state.ts";

/** Computes a prompt and stages its KV. */
export function handlePrefill(state: WorkerState, message: BusMessage): void {
  const command = Prefill.decode(message.payload);
  const admitted = admit(state, command, {
    leg: "prefill",
    computesPrompt: true,
    decodeConstraints: command.decodeConstraints,
  });
  if (admitted === null) return;
  admitted.record.moveTo("prefilling");
  state.counters.prefillsStarted.add();
  state.engine.prefill(admitted.job);
}

/** Fetches a staged KV and generates from it. */
export function handleDecode(state: WorkerState, message: BusMessage): void {
  const command = Decode.decode(message.payload);
  const admitted = admit(state, command, { leg: "decode", computesPrompt: false });
  if (admitted === null) return;
  admitted.record.moveTo("importing");
  // Ends in the request's own failure, never in a rejection.
  void importAndDecode(state, admitted, command.handoff);
}

/** Computes prompt and output here. */
export function handleGenerate(state: WorkerState, message: BusMessage): void {
  const command = Generate.decode(message.payload);
  const admitted = admit(state, command, { leg: "decode", computesPrompt: true });
  if (admitted === null) return;
  admitted.record.moveTo("decoding");
  state.counters.decodesStarted.add();
  state.engine.generate(admitted.job);
}

/** Ends requests wherever they are. */
export function handleAbort(state: WorkerState, message: BusMessage): void {
  for (const requestId of Abort.decode(message.payload).requestIds) cancelRequest(state, requestId);
}

/** Frees one staged KV. Its request has nothing else here. */
export function handleRelease(state: WorkerState, message: BusMessage): void {
  cancelRequest(state, Release.decode(message.payload).requestId);
}

/** Keeps a staged KV whose decode request still waits. */
export function handleExtend(state: WorkerState, message: BusMessage): void {
  const { handoffId, requestId } = Extend.decode(message.payload);
  state.ledger.extend(handoffId);
  const record = state.requests.get(requestId);
  if (record !== undefined) record.prefillDone = null;
}

/** Sends frames again that were lost on the way. */
export function handleGetFrames(state: WorkerState, message: BusMessage): void {
  const frames = state.frames.missing(GetFrames.decode(message.payload));
  message.respond(MissingFrames.encode({ frames }));
}

/** Sends KV events again, or all that the cache holds. Of a rank that is not here nothing is kept, so nothing is said. */
export function handleGetKvEvents(state: WorkerState, message: BusMessage): void {
  const ask = GetKvEvents.decode(message.payload);
  if (ask.dpRank >= state.card.dpSize) throw malformed("get-kv-events", "dpRank", "no such rank");
  message.respond(KvHistory.encode(state.kvEvents.history(ask)));
}

/** Sends the tokenizer artifact. */
export function handleGetArtifact(state: WorkerState, checksum: string, message: BusMessage): void {
  const ask = GetArtifact.decode(message.payload);
  const bytes = ask.checksum === checksum ? state.card.tokenizer : null;
  message.respond(Artifact.encode({ checksum: ask.checksum, bytes }));
}
