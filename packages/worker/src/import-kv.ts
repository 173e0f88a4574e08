import { compareDescriptors, type PartId } from "@baton/kv-transfer";
import { KvHandoff, ServingError } from "@baton/protocol";
import type { Admitted } from "./admission.ts";
import type { EngineJob, ImportPlan } from "./engine.ts";
import { failAndDrop } from "./request-end.ts";
import type { RequestRecord } from "./request-record.ts";
import type { WorkerState } from "./state.ts";

/**
 * The decode side of a handoff: checks the ticket, asks the engine what it lacks, fetches just that, and goes on from the
 * first tokens. Every failure ends the request; the promise never rejects.
 */
export async function importAndDecode(
  state: WorkerState,
  admitted: Admitted,
  handoff: Uint8Array,
): Promise<void> {
  const { record, job } = admitted;
  try {
    const ticket = KvHandoff.decode(handoff);
    record.ticket = ticket;
    checkTicket(state, ticket, job);
    const plan = await state.engine.prepareImport({ ...job, firstTokens: ticket.firstTokens });
    if (record.phase !== "importing") return;
    await fetchParts(state, record, ticket, plan);
    if (record.phase !== "importing") return;
    state.counters.blocksMoved.add(plan.missingBlocks.length);
    state.counters.blocksReused.add(plan.reusedBlocks);
    record.moveTo("decoding");
    state.counters.decodesStarted.add();
    state.engine.decode(record.head.requestId);
  } catch (caught) {
    // A record that has ended was aborted: its rejections are the echo of that.
    failAndDrop(state, record, ServingError.from(caught));
  }
}

async function fetchParts(
  state: WorkerState,
  record: RequestRecord,
  ticket: KvHandoff,
  plan: ImportPlan,
): Promise<void> {
  const parts: PartId[] = [...plan.missingBlocks];
  if (plan.needsTail) parts.push("tail");
  const pull = state.mover.pull({
    ticket,
    parts,
    onPart: (part, bytes) => state.engine.importPart(record.head.requestId, part, bytes),
  });
  record.pull = pull;
  await pull.done;
  record.pull = null;
}

/** Throws `handoff_refused` for a ticket that this worker's engine cannot go on from. */
function checkTicket(state: WorkerState, ticket: KvHandoff, job: EngineJob): void {
  if (ticket.transport !== "blocks") refuse(ticket, "transport", ticket.transport);
  try {
    compareDescriptors(ticket, state.card.descriptor);
  } catch (error) {
    state.transferCounters.pullsRefused.add(1, { reason: "descriptor" });
    throw error;
  }
  if (ticket.promptTokens !== job.tokens.length) {
    refuse(ticket, "promptTokens", ticket.promptTokens);
  }
  if (ticket.firstTokens.length !== (job.params.n ?? 1)) {
    refuse(ticket, "firstTokens", ticket.firstTokens.length);
  }
}

function refuse(ticket: KvHandoff, field: string, offered: string | number): never {
  throw new ServingError("handoff_refused", {
    problem: `the ticket's ${field} cannot be used here`,
    handoffId: ticket.handoffId,
    field,
    offered,
  });
}
