import { type KvHandoff, ServingError } from "@baton/protocol";

/** What the bytes of a KV are, by field. */
export type KvDescriptor = Readonly<Record<string, string | number | boolean>>;

/** The first field, in alphabetical order, in which two descriptors differ; null if they are equal. */
export function differingField(offered: KvDescriptor, own: KvDescriptor): string | null {
  const fields = new Set([...Object.keys(offered), ...Object.keys(own)]);
  for (const field of [...fields].sort()) {
    if (offered[field] !== own[field]) return field;
  }
  return null;
}

/**
 * Compares a ticket's KV with what the own engine takes, before a byte moves. Throws `handoff_refused` that names the
 * field; `descriptor` stands for the whole where one side has none.
 */
export function compareDescriptors(ticket: KvHandoff, own: KvDescriptor | null): void {
  const offered = ticket.descriptor;
  if (offered === null && own === null) return;
  if (offered === null || own === null) throw refused(ticket, "descriptor", null, null);
  const field = differingField(offered, own);
  if (field === null) return;
  throw refused(ticket, field, offered[field] ?? null, own[field] ?? null);
}

function refused(
  ticket: KvHandoff,
  field: string,
  offered: string | number | boolean | null,
  own: string | number | boolean | null,
): ServingError {
  return new ServingError("handoff_refused", {
    problem: `the KV differs in ${field}`,
    reason: "descriptor",
    handoffId: ticket.handoffId,
    field,
    offered,
    own,
  });
}
