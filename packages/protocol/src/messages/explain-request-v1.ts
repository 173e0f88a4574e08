import { z } from "zod";
import { type MessageType, schemaMessage } from "../message-type.ts";

const requestSchema = z.object({
  /** Whose body it is: of `POST /v1/chat/completions` or of `POST /v1/completions`. */
  endpoint: z.enum(["chat", "completions"]),
  /** The body as JSON. */
  body: z.string(),
});

/** Asks where a request would go, without sending it. A tool to one Frontend of the namespace. */
export type ExplainRequest = z.infer<typeof requestSchema>;

// v1: map
export const ExplainRequest: MessageType<ExplainRequest> = schemaMessage(
  "explain-request",
  1,
  requestSchema,
);

const answerSchema = z.object({
  /** HTTP status of the answer. */
  status: z.number().int(),
  /** What the API would answer to the same body with `baton.query_only`, as JSON. */
  body: z.string(),
});

/** The answer to an `explain-request`. */
export type RequestExplained = z.infer<typeof answerSchema>;

// v1: map
export const RequestExplained: MessageType<RequestExplained> = schemaMessage(
  "request-explained",
  1,
  answerSchema,
);
