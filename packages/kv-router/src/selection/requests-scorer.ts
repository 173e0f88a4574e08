import type { Scorer } from "./selection-policy.ts";

/** Requests in flight with this one, so that preferred taints weigh between idle workers too. */
export const requestsScorer: Scorer = {
  name: "requests",
  cost: ({ requestsInFlight }) => requestsInFlight + 1,
  terms: ({ requestsInFlight }) => ({ requests_in_flight: requestsInFlight }),
};
