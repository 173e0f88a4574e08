/**
 * The phases of one request in a worker. `staged`: its KV waits to be fetched. `importing`: its KV is on the way here.
 */
export type RequestPhase = "waiting" | "prefilling" | "staged" | "importing" | "decoding" | "ended";

/** The moves between phases. */
export const nextRequestPhases: Readonly<Record<RequestPhase, readonly RequestPhase[]>> = {
  waiting: ["prefilling", "importing", "decoding", "ended"],
  prefilling: ["staged", "ended"], // never back: what fails ends the request
  staged: ["ended"],
  importing: ["decoding", "ended"],
  decoding: ["ended"],
  ended: [],
};
