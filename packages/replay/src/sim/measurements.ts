// Hot path: `token` once per output token, millions in a long trace. Bench: bench/replay.bench.ts
import { EventDigest } from "./event-digest.ts";
import type { ReplayRequest } from "./replay-request.ts";
import { Samples } from "./samples.ts";

/** How one request fared. Times are virtual, ms. */
export interface RequestOutcome {
  readonly index: number;
  readonly arrivedMs: number;
  /** From arrival to the first token, queues included. */
  readonly ttftMs: number;
  /** Mean time between its tokens; 0 with a single one. */
  readonly itlMs: number;
  readonly endedMs: number;
  readonly outputTokens: number;
  /** Blocks of its prompt, a partial last one included. */
  readonly blocksAsked: number;
  /** Of these, found in the cache of the worker that computed the prompt. */
  readonly blocksFound: number;
}

/** Gathers what happens in a replay. */
export class Measurements {
  readonly outcomes: RequestOutcome[] = [];
  /** Numbers of the requests that no worker could ever run. */
  readonly refused: number[] = [];
  /** Time between the tokens of each request, ms. */
  readonly itlMs = new Samples();
  readonly digest = new EventDigest();
  blocksAsked = 0;
  blocksFound = 0;

  /** A prompt has been computed, with so many blocks found in the cache. */
  prefilled(request: ReplayRequest, blocksFound: number): void {
    request.cachedBlocks = blocksFound;
    this.blocksAsked += request.promptBlocks;
    this.blocksFound += blocksFound;
  }

  /** A request's client has got a token. */
  token(request: ReplayRequest, nowMs: number): void {
    if (request.outputTokens++ === 0) {
      request.firstTokenMs = nowMs;
      this.digest.add("firstToken", nowMs, request.index, 0);
    } else {
      this.itlMs.add(nowMs - request.lastTokenMs);
    }
    request.lastTokenMs = nowMs;
  }

  /** A request has had its last token. */
  ended(request: ReplayRequest, nowMs: number): void {
    const { index, arrivedMs, firstTokenMs, lastTokenMs, outputTokens } = request;
    this.digest.add("ended", nowMs, index, outputTokens);
    this.outcomes.push({
      index,
      arrivedMs,
      ttftMs: firstTokenMs - arrivedMs,
      itlMs: outputTokens > 1 ? (lastTokenMs - firstTokenMs) / (outputTokens - 1) : 0,
      endedMs: nowMs,
      outputTokens,
      blocksAsked: request.promptBlocks,
      blocksFound: request.cachedBlocks,
    });
  }

  /** No worker can ever run a request. */
  refuse(request: ReplayRequest, nowMs: number): void {
    this.digest.add("refused", nowMs, request.index, 0);
    this.refused.push(request.index);
  }
}
