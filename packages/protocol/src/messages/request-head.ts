import type { ActorId, RequestId } from "../ids.ts";
import type { FieldReader } from "../message-type.ts";

/**
 * What every message on the path of one request starts with: the request, and the Frontend that owns it.
 * A Frontend's answers go to the subject of `frontendId`; `frontendGeneration` and `stream` let it drop what
 * was meant for an earlier life of its.
 */
export interface RequestHead {
  readonly requestId: RequestId;
  readonly frontendId: ActorId;
  readonly frontendGeneration: number;
  /** u32, unique among the Frontend's live requests. */
  readonly stream: number;
}

/** The names of the head's fields, in wire order. */
export const requestHeadLayout = [
  "requestId",
  "frontendId",
  "frontendGeneration",
  "stream",
] as const;
/** How many fields the head takes: what follows starts at this index. */
export const requestHeadLength = requestHeadLayout.length;

/** The head's fields in wire order. */
export function writeHead(head: RequestHead): readonly unknown[] {
  return [head.requestId, head.frontendId, head.frontendGeneration, head.stream];
}

/** Reads the head from the first fields of a message. */
export function readHead(fields: FieldReader): RequestHead {
  return {
    requestId: fields.string<RequestId>(0),
    frontendId: fields.string<ActorId>(1),
    frontendGeneration: fields.count(2),
    stream: fields.count(3),
  };
}
