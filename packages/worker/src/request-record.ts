import type { Pull } from "@baton/kv-transfer";
import {
  type KvHandoff,
  type Leg,
  type PrefillDone,
  type RequestHead,
  type RoutingConstraints,
  ServingError,
} from "@baton/protocol";
import { nextRequestPhases, type RequestPhase } from "./request-phase.ts";

/** What a record is made from. */
export interface RequestFacts {
  readonly head: RequestHead;
  readonly leg: Leg;
  readonly dpRank: number;
  readonly promptTokens: number;
  /** Choices that are wanted. */
  readonly choices: number;
  readonly decodeConstraints: RoutingConstraints | null;
  /** Whether the prompt is computed here, and not fetched. */
  readonly computesPrompt: boolean;
}

/** One request of a worker, from its command to its end. */
export class RequestRecord {
  readonly head: RequestHead;
  readonly leg: Leg;
  readonly dpRank: number;
  readonly promptTokens: number;
  readonly decodeConstraints: RoutingConstraints | null;
  /** The ticket of its staged KV, or of the KV that it fetches. */
  ticket: KvHandoff | null = null;
  /** What its Frontend was told of the end of its prefill, until it is known to have heard; and when its KV was staged. */
  prefillDone: PrefillDone | null = null;
  stagedAtMs = 0;
  /** The KV under way to here. */
  pull: Pull | null = null;
  /** Prompt tokens that are still to be computed here; none where the KV comes from elsewhere. */
  prefillTokens: number;
  /** Output tokens so far, of all choices. */
  outputTokens = 0;
  /** Whether a token frame has told of it: from then on it fails by an end mark. */
  framed = false;
  /** Per choice, the index of its next token; -1 once the choice has ended. */
  readonly nextOffsets: number[];
  openChoices: number;
  #phase: RequestPhase = "waiting";

  constructor(facts: RequestFacts) {
    this.head = facts.head;
    this.leg = facts.leg;
    this.dpRank = facts.dpRank;
    this.promptTokens = facts.promptTokens;
    this.decodeConstraints = facts.decodeConstraints;
    this.prefillTokens = facts.computesPrompt ? facts.promptTokens : 0;
    this.nextOffsets = new Array<number>(facts.choices).fill(0);
    this.openChoices = facts.choices;
  }

  get phase(): RequestPhase {
    return this.#phase;
  }

  /** Goes on to a phase that may follow. Throws `internal` otherwise. */
  moveTo(phase: RequestPhase): void {
    if (!nextRequestPhases[this.#phase].includes(phase)) {
      throw new ServingError("internal", { problem: `request from ${this.#phase} to ${phase}` });
    }
    this.#phase = phase;
  }

  /** Notes a choice's new tokens. True if that ends the request. */
  advance(choice: number, offset: number, tokens: number, ends: boolean): boolean {
    if (this.nextOffsets[choice] === -1) return this.openChoices === 0;
    this.outputTokens += tokens;
    this.nextOffsets[choice] = ends ? -1 : offset + tokens;
    if (ends) this.openChoices--;
    return this.openChoices === 0;
  }
}
