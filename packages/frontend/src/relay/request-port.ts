import type { RouteExplanation } from "../explain/route-explanation.ts";
import type { RequestHandle, RequestSink } from "../request/request-sink.ts";
import type { ServingRequest } from "../request/serving-request.ts";

/** Takes requests below HTTP: what HTTP, a simulator or a test drives. */
export interface RequestPort {
  /**
   * Takes one request and sees to its end. The sink hears of exactly one end, perhaps before this returns; nothing is
   * thrown.
   */
  submit(request: ServingRequest, sink: RequestSink): RequestHandle;
  /** Says where a request would go and why. Nothing is booked or sent; never rejects. */
  explain(request: ServingRequest): Promise<RouteExplanation>;
}
