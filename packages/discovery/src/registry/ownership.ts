import { type CardConflict, modelConflicts, setConflicts } from "./card-fingerprint.ts";
import type { RegistryEntry } from "./registry-entry.ts";

/** How long what lasts, in milliseconds. */
export interface OwnershipRules {
  /** How long a set whose workers are all lost keeps out workers with another card. */
  readonly lostOwnsMs: number;
  /** How long a refused worker that does not ask again keeps its place before later ones. */
  readonly waitingClaimMs: number;
}

/**
 * What keeps a worker out of its set: the card that is served there, one that another set of its model serves with
 * other hashes or tokens, or one that has waited longer for the same place. Empty: it may serve.
 */
export function conflictsOf(
  entry: RegistryEntry,
  entries: ReadonlySet<RegistryEntry>,
  rules: OwnershipRules,
  nowMs: number,
): readonly CardConflict[] {
  for (const other of entries) {
    if (other === entry || agree(other, entry)) continue;
    if (owns(other, rules, nowMs) || waitsBefore(other, entry, entries, rules, nowMs)) {
      const compare = other.setKey === entry.setKey ? setConflicts : modelConflicts;
      return compare(other.registration, entry.registration);
    }
  }
  return [];
}

/** The accepted workers of a set own it, lost ones for a while. */
function owns(entry: RegistryEntry, rules: OwnershipRules, nowMs: number): boolean {
  if (entry.state === "lost") return nowMs - entry.lostAtMs < rules.lostOwnsMs;
  return entry.state !== "refused";
}

function agree(left: RegistryEntry, right: RegistryEntry): boolean {
  return left.setKey === right.setKey
    ? left.setPrint === right.setPrint
    : left.modelPrint === right.modelPrint;
}

/** Whether `other` is refused, has waited longer than `entry`, still asks, and would be let in by now. */
function waitsBefore(
  other: RegistryEntry,
  entry: RegistryEntry,
  entries: ReadonlySet<RegistryEntry>,
  rules: OwnershipRules,
  nowMs: number,
): boolean {
  if (other.state !== "refused" || entry.state !== "refused") return false;
  if (nowMs - other.askedAtMs >= rules.waitingClaimMs) return false;
  if (other.refusedAtMs >= entry.refusedAtMs) return false;
  for (const owner of entries) {
    if (owner !== other && owns(owner, rules, nowMs) && !agree(owner, other)) return false;
  }
  return true;
}
