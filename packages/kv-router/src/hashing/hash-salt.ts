/** A text that could be taken for the first of the two forms below. */
const looksJoined = /^\d+:/;

/**
 * The one salt of a request's block hashes, out of the model card's and the tenant's, either of which may be empty. No two
 * pairs have the same. A tenant's salt alone stays as it is, unless it could be taken for a pair. Empty if both are.
 * Frontend and engines must hash with the same: the Frontend makes it and sends it with the work.
 */
export function joinHashSalts(cardSalt: string, tenantSalt: string): string {
  if (cardSalt === "" && !looksJoined.test(tenantSalt)) return tenantSalt;
  return `${cardSalt.length}:${cardSalt}${tenantSalt}`;
}
