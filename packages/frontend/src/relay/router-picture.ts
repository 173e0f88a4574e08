import type { ActorId, RouterRole } from "@baton/protocol";
import type { PeerWatch } from "@baton/runtime";

/** What a Frontend knows of the routers. */
export interface RouterPicture {
  /** Whether a router of a role may live: none does only if its silence is known. */
  mayHave(role: RouterRole): boolean;
  /** Finds out whether they live, however lately they were heard. */
  ask(role: RouterRole): void;
  /** The one to ask by name, while another hangs and would do nothing with what goes to all of them; else null. */
  named(role: RouterRole): ActorId | null;
}

/** The picture that a watch gives. Those that are well are named in turn. */
export function pictureRouters(
  watch: Pick<PeerWatch, "ask" | "beside">,
  mayHave: RouterPicture["mayHave"],
): RouterPicture {
  let turn = 0;
  return {
    mayHave,
    ask: (role) => watch.ask(role),
    named: (role) => {
      const well = watch.beside(role);
      if (well === null || well.length === 0) return null;
      turn += 1;
      const chosen = well[turn % well.length];
      return chosen === undefined ? null : (chosen.heartbeat.id as ActorId);
    },
  };
}
