import { z } from "zod";
import { type MessageType, schemaMessage } from "../message-type.ts";

const schema = z.object({ id: z.string(), generation: z.number().int() });

/** An actor's answer to a probe, whose own body is empty. No responders on the probe's subject means gone. */
export type ProbeReply = z.infer<typeof schema>;

// v1: map
export const ProbeReply: MessageType<ProbeReply> = schemaMessage("probe-reply", 1, schema);
