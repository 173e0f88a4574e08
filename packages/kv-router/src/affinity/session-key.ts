import type { RequestSession } from "@baton/protocol";

/**
 * The key under which a session is bound. One that was split off from a parent shares the parent's own key for its
 * children, so that siblings go to one worker; the parent keeps its own binding. A pinned request speaks for itself
 * alone. The prefixes keep a client's id from meeting a key made from a parent's.
 */
export function sessionKey(session: RequestSession, isPinned: boolean): string {
  return session.parent === undefined || isPinned ? `s:${session.id}` : `p:${session.parent}`;
}
