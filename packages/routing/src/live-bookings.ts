/** Hot path: once per worker and heartbeat. */
import type { LiveBooking } from "@baton/kv-router";
import { type LoadReport, liveStateLength } from "@baton/protocol";

/** The bookings that a worker says it runs or stages, with how far each is; null if the report does not say. */
export function liveBookings({
  liveBookings: ids,
  liveStates: states,
}: LoadReport): readonly LiveBooking[] | null {
  if (ids === null) return null;
  return ids.map((bookingId, index) => {
    const at = index * liveStateLength;
    return {
      bookingId,
      dpRank: states?.[at] ?? null,
      promptBlocks: states?.[at + 1] ?? null,
      prefillTokens: states?.[at + 2] ?? null,
      outputTokens: states?.[at + 3] ?? null,
    };
  });
}
