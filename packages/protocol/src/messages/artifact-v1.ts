import { z } from "zod";
import { type MessageType, schemaMessage } from "../message-type.ts";

const ask = z.object({ checksum: z.string() });

/** Asks a worker for the bytes of an artifact of its card, by hex SHA-256. Frontend to one worker, once a model. */
export type GetArtifact = z.infer<typeof ask>;

// v1: map
export const GetArtifact: MessageType<GetArtifact> = schemaMessage("get-artifact", 1, ask);

const answer = z.object({ checksum: z.string(), bytes: z.instanceof(Uint8Array).nullable() });

/** The artifact's bytes; null if the worker has none of that checksum. The receiver checks the digest. */
export interface Artifact {
  readonly checksum: string;
  readonly bytes: Uint8Array | null;
}

// v1: map
export const Artifact: MessageType<Artifact> = schemaMessage<Artifact>("artifact", 1, answer);
