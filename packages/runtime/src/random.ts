/** Random numbers as an actor knows them. In production the system's; in a simulation from a seed. */
export interface Random {
  /** In [0, 1). */
  number(): number;
  /** 0 to 2^32 − 1. */
  u32(): number;
  /** `length` random bytes; unpredictable in production, so fit for secrets. */
  bytes(length: number): Uint8Array;
  /** A new id: `prefix`, `-`, and 80 random bits in base 32. */
  id(prefix: string): string;
}

/** Random bytes in an id. */
export const idBytes = 10;
