import type { RequestTransition } from "@baton/protocol";
import type { ClientEnd } from "./soak-client.ts";
import type { SoakRequest } from "./soak-request.ts";

/** The ends that Frontends have counted, or that were heard of them. */
export interface EndCounts {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

/** One request inside, as the bus told of it. */
interface HeardRequest {
  readonly clientId: string | null;
  end: "completed" | "failed" | "cancelled" | null;
  code: string;
}

const finalStates = new Set(["completed", "failed", "cancelled"]);
const violationsKept = 20;

/**
 * Holds what clients saw against what was heard on the bus and what Frontends counted. A client's request is forgotten as
 * soon as both agree, so a soak of any length needs the same memory.
 */
export class EndLedger {
  readonly #heard = new Map<string, HeardRequest>();
  readonly #idsByClient = new Map<string, string[]>();
  readonly #told = new Map<string, { readonly request: SoakRequest; readonly end: ClientEnd }>();
  readonly #violations: string[] = [];
  readonly #totals = { completed: 0, failed: 0, cancelled: 0 };
  readonly #cancelledIn = new Map<string, number>();
  readonly #clientEnds = new Map<string, number>();
  #violationCount = 0;
  #refused = 0;
  #leftUnheard = 0;

  /** Takes one state change. */
  heard([id, state, , details]: RequestTransition): void {
    if (state === "received") {
      if (this.#heard.has(id)) this.#violate(`${id} was received twice`);
      const clientId = details.clientRequestId ?? null;
      this.#heard.set(id, { clientId, end: null, code: "" });
      if (clientId === null) return;
      const ids = this.#idsByClient.get(clientId);
      if (ids === undefined) this.#idsByClient.set(clientId, [id]);
      else ids.push(id);
      return;
    }
    const request = this.#heard.get(id);
    if (request === undefined)
      this.#violate(`${id} was ${state} without being received, or after its end`);
    else if (request.end !== null) this.#violate(`${id} was ${state} after it was ${request.end}`);
    else if (finalStates.has(state)) {
      request.end = state as keyof EndCounts;
      request.code = details.code ?? "";
      this.#totals[request.end] += 1;
      if (request.end === "cancelled") increment(this.#cancelledIn, details.stage ?? "no state");
    }
  }

  /** The client id of a request inside. */
  clientOf(id: string): string | null {
    return this.#heard.get(id)?.clientId ?? null;
  }

  /** A client's request is over for it. */
  told(request: SoakRequest, end: ClientEnd): void {
    const key = end.kind === "failed" ? `failed ${end.code}` : end.kind;
    increment(this.#clientEnds, key);
    this.#told.set(request.id, { request, end });
  }

  /** How many requests have ended in which way for their clients. */
  get clientEnds(): ReadonlyMap<string, number> {
    return this.#clientEnds;
  }

  /** How many requests inside were cancelled, by the state that they were in. */
  get cancelledIn(): ReadonlyMap<string, number> {
    return this.#cancelledIn;
  }

  /** Forgets what is over for its client and on the bus alike, and takes note of what differs. */
  settle(): void {
    for (const [clientId, { request, end }] of this.#told) {
      const ids = this.#idsByClient.get(clientId) ?? [];
      if (ids.length === 0) continue;
      const inside = ids.flatMap((id) => this.#heard.get(id) ?? []);
      if (inside.some((one) => one.end === null)) continue;
      if (end.kind === "completed" && ids.length < request.prompts) continue;
      const why = difference(request, end, inside);
      if (why !== null) this.#violate(`${clientId} (${request.kind}): ${why}`);
      for (const id of ids) this.#heard.delete(id);
      this.#idsByClient.delete(clientId);
      this.#told.delete(clientId);
    }
  }

  /** When nothing runs: every way in which the views differ, the first twenty, with their number. */
  finish(counted: EndCounts): readonly string[] {
    this.settle();
    for (const [clientId, { request, end }] of this.#told) this.#unheard(clientId, request, end);
    this.#told.clear();
    for (const [id, { clientId, end }] of this.#heard) {
      if (end === null) this.#violate(`${id} (${clientId}) has no end`);
      else this.#violate(`${id} (${clientId}) was ${end}, which no client was told`);
    }
    this.#count(counted);
    const more = this.#violationCount - this.#violations.length;
    return more > 0 ? [...this.#violations, `and ${more} more`] : [...this.#violations];
  }

  #unheard(clientId: string, request: SoakRequest, end: ClientEnd): void {
    const ids = this.#idsByClient.get(clientId) ?? [];
    if (ids.length > 0) return;
    // A client that leaves at once may be gone before its request is read; one that is refused never is a request inside.
    if (end.kind === "left") this.#leftUnheard += 1;
    else if (end.kind === "failed" && end.stage === "received") this.#refused += 1;
    else this.#violate(`${clientId} (${request.kind}) was ${end.kind}, of which nothing was heard`);
  }

  #count(counted: EndCounts): void {
    const { completed, failed, cancelled } = this.#totals;
    for (const [name, heard, number] of [
      ["completed", completed, counted.completed],
      ["cancelled", cancelled, counted.cancelled],
    ] as const) {
      if (heard !== number) this.#violate(`${heard} heard as ${name}, ${number} counted`);
    }
    const least = failed + this.#refused;
    if (counted.failed < least || counted.failed > least + this.#leftUnheard) {
      this.#violate(
        `${failed} heard as failed and ${this.#refused} refused, ${counted.failed} counted`,
      );
    }
  }

  #violate(text: string): void {
    this.#violationCount += 1;
    if (this.#violations.length < violationsKept) this.#violations.push(text);
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** How the client's end differs from those inside; null if it does not. */
function difference(
  request: SoakRequest,
  end: ClientEnd,
  inside: readonly HeardRequest[],
): string | null {
  const ends = inside.map((one) => (one.end === "failed" ? `failed ${one.code}` : one.end));
  const seen = `${ends.join(", ")} on the bus`;
  if (inside.length > request.prompts)
    return `${inside.length} requests inside for ${request.prompts}`;
  switch (end.kind) {
    case "completed":
      return ends.every((one) => one === "completed") ? null : `completed for its client, ${seen}`;
    case "failed":
      return ends.includes(`failed ${end.code}`)
        ? null
        : `failed ${end.code} for its client, ${seen}`;
    case "left":
      return null;
    case "broken":
      return `${end.why}; ${seen}`;
  }
}
