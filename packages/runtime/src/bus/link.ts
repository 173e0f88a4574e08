import type { ChunkHeader } from "@baton/protocol";

/** A message as a transport delivers it. */
export interface Inbound {
  readonly subject: string;
  /** Stays valid and belongs to the receiver. */
  readonly payload: Uint8Array;
  /** Empty if there is none. */
  readonly reply: string;
  /** The server's word that nobody listens on the subject that this was the reply of. */
  readonly noResponders: boolean;
  /** Set if the payload is a part of a larger one. */
  readonly chunk: ChunkHeader | null;
}

/** A subscription of a transport. */
export interface LinkSubscription {
  unsubscribe(): void;
  /** Takes nothing new; resolves when what is on its way has been delivered. May take for ever with the server gone. */
  drain(): Promise<void>;
}

/** What a bus needs of its transport: NATS, or the network in memory. */
export interface Link {
  /** The largest payload of one message, headers included. */
  readonly maxPayloadBytes: number;
  send(subject: string, payload: Uint8Array, reply: string, chunk: ChunkHeader | null): void;
  subscribe(
    subject: string,
    queue: string | null,
    deliver: (message: Inbound) => void,
  ): LinkSubscription;
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** What a transport tells its bus. */
export interface LinkListener {
  onConnected(): void;
  onDisconnected(): void;
  onClosed(): void;
  /** Messages were lost because this member did not take them fast enough; null if nobody knows how many. */
  onSlowConsumer(lost: number | null): void;
  /** A message whose headers make no sense. */
  onMalformed(subject: string): void;
}
