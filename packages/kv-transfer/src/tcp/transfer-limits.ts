/** Bounds in time and number of a TCP mover. */
export interface TransferLimits {
  /** A peer that lets nothing through for so long is given up. Also bounds a connect, and a request that trickles in. */
  readonly quietMs: number;
  /** One pull, from connect to its end. */
  readonly totalMs: number;
  /** A puller closes a connection that carries nothing after this; a source after twice as long. */
  readonly idleMs: number;
  /** Idle connections kept per peer: as many as pulls come at once, or each of a burst pays for a connect. */
  readonly maxIdlePerPeer: number;
  /** Connections that a source takes; more are closed at once. */
  readonly maxServed: number;
}

/** What holds where an option says nothing. */
export const defaultTransferLimits: TransferLimits = {
  quietMs: 10_000,
  totalMs: 120_000,
  idleMs: 30_000,
  maxIdlePerPeer: 128,
  maxServed: 1_024,
};
