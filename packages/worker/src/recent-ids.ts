import type { RequestId } from "@baton/protocol";

/** How long a cancelled id is remembered: an abort may overtake its dispatch. */
export const defaultRememberMs = 5_000;
const maxRemembered = 65_536;

/** Ids of the last few seconds. Over 65,536 the oldest are forgotten early. */
export class RecentIds {
  readonly #rememberMs: number;
  /** In order of expiry. */
  readonly #expiresAtMs = new Map<RequestId, number>();

  constructor(rememberMs = defaultRememberMs) {
    this.#rememberMs = rememberMs;
  }

  get size(): number {
    return this.#expiresAtMs.size;
  }

  add(id: RequestId, nowMs: number): void {
    this.#expiresAtMs.delete(id);
    this.#expiresAtMs.set(id, nowMs + this.#rememberMs);
    for (const [oldest, expiresAtMs] of this.#expiresAtMs) {
      if (expiresAtMs > nowMs && this.#expiresAtMs.size <= maxRemembered) break;
      this.#expiresAtMs.delete(oldest);
    }
  }

  has(id: RequestId, nowMs: number): boolean {
    return (this.#expiresAtMs.get(id) ?? 0) > nowMs;
  }
}
