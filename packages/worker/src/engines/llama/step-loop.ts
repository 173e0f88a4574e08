/**
 * The child's step loop. Hot: one turn a token of every sequence. Between steps the context is free, so
 * cancels, imports and exports are done there and wait for one step at most.
 */

import type { TokenLogprobs } from "@baton/protocol";
import type {
  ChildMessage,
  ParentMessage,
  RunCommand,
  RunOutput,
  SlotCommand,
} from "./child-protocol.ts";
import { type Answers, ChildRun, type RunProgress } from "./child-run.ts";
import type { NativeSequence } from "./native-types.ts";
import type { Sampler, Sampling } from "./sampling.ts";

export interface StepLoopOptions {
  readonly slots: number;
  readonly chunkTokens: number;
  /** The most tokens of one step; at least `slots + chunkTokens`. */
  readonly stepTokens: number;
  readonly contextSize: number;
}

export interface StepLoopDeps {
  newSequence(): NativeSequence;
  newSampler(sampling: Sampling): Sampler | Promise<Sampler>;
  send(message: ChildMessage): void;
  /** The library's last complaint: its exceptions are the same sentence for every cause. */
  lastComplaint(): string | undefined;
}

type Command = Exclude<ParentMessage, { kind: "load" }>;

interface Share {
  readonly run: ChildRun;
  readonly count: number;
}

export class StepLoop {
  readonly #options: StepLoopOptions;
  readonly #deps: StepLoopDeps;
  readonly #sequences: NativeSequence[];
  /** In order of arrival. */
  readonly #runs = new Map<number, ChildRun>();
  #inbox: Command[] = [];
  #turning = false;

  constructor(options: StepLoopOptions, deps: StepLoopDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#sequences = Array.from({ length: options.slots }, () => deps.newSequence());
  }

  /** Takes a command; it is done before the next step. Rejects only for a bug. */
  async handle(command: Command): Promise<void> {
    this.#inbox.push(command);
    if (this.#turning) return;
    this.#turning = true;
    try {
      while (this.#inbox.length > 0 || this.#runs.size > 0) {
        await this.#doCommands();
        const shares = this.#compose();
        if (shares.length > 0) await this.#step(shares);
      }
    } finally {
      this.#turning = false;
    }
  }

  async #doCommands(): Promise<void> {
    while (this.#inbox.length > 0) {
      const commands = this.#inbox;
      this.#inbox = [];
      for (const command of commands) await this.#doCommand(command);
    }
  }

  async #doCommand(command: Command): Promise<void> {
    switch (command.kind) {
      case "run":
        return this.#startRun(command);
      case "cancel":
        // Stopping to feed is all: what the slot holds stays a valid prefix.
        if (this.#runs.delete(command.run)) {
          this.#deps.send({ kind: "cancelled", run: command.run });
        }
        return;
      case "save":
      case "restore":
        return this.#doSlotCommand(command);
    }
  }

  async #startRun(command: RunCommand): Promise<void> {
    const { run, slot, kept } = command;
    try {
      const sequence = this.#sequence(slot);
      const prefix = Array.from(command.tokens.subarray(0, kept));
      if (kept === 0) await sequence.clearHistory();
      else await sequence.adaptStateToTokens(prefix, false);
      if (sequence.nextTokenIndex !== kept) {
        throw new Error(`the slot holds ${sequence.nextTokenIndex} of ${kept} tokens`);
      }
      const sampler = await this.#deps.newSampler(command.sampling);
      this.#runs.set(run, new ChildRun(command, sampler, this.#options.contextSize));
    } catch (error) {
      await this.#fail(run, slot, error);
    }
  }

  async #doSlotCommand(command: SlotCommand): Promise<void> {
    const { call, slot } = command;
    try {
      const sequence = this.#sequence(slot);
      if (command.kind === "save") {
        await sequence.saveStateToFile(command.path);
      } else {
        await sequence.clearHistory();
        await sequence.loadStateFromFile(command.path, { acceptRisk: true });
        if (sequence.nextTokenIndex !== command.tokens) {
          throw new Error(`the state holds ${sequence.nextTokenIndex} tokens`);
        }
      }
      this.#deps.send({ kind: "done", call, problem: null });
    } catch (error) {
      const problem = this.#explain(error);
      await this.#replaceSequence(slot);
      this.#deps.send({ kind: "done", call, problem });
    }
  }

  /** One token of every decoding run first, then prompt chunks in order of arrival. */
  #compose(): Share[] {
    const shares: Share[] = [];
    let room = this.#options.stepTokens;
    for (const run of this.#runs.values()) {
      if (run.waiting !== 1) continue;
      shares.push({ run, count: 1 });
      room -= 1;
    }
    for (const run of this.#runs.values()) {
      if (run.waiting === 1) continue;
      const count = run.nextChunk(this.#options.chunkTokens);
      // Never a part of a chunk: its end decides how sums round.
      if (count > room) break;
      shares.push({ run, count });
      room -= count;
    }
    return shares;
  }

  /** All calls are made in one tick and so become one native batch; one message tells of them all. */
  async #step(shares: readonly Share[]): Promise<void> {
    const calls = shares.map(({ run, count }) =>
      this.#sequence(run.slot).controlledEvaluate(run.items(count)),
    );
    const results = await Promise.allSettled(calls);
    const held: [run: number, tokens: number][] = [];
    const outputs: RunOutput[] = [];
    const promptLogprobs: [run: number, logprobs: readonly TokenLogprobs[]][] = [];
    const left: [ChildRun, RunProgress["fate"]][] = [];
    for (const [index, { run, count }] of shares.entries()) {
      try {
        const progress = run.advance(count, answersOf(results[index]));
        held.push([run.id, run.held]);
        outputs.push(...progress.outputs);
        if (progress.promptLogprobs.length > 0) {
          promptLogprobs.push([run.id, progress.promptLogprobs]);
        }
        if (progress.fate !== "goes_on") left.push([run, progress.fate]);
      } catch (error) {
        await this.#fail(run.id, run.slot, error);
      }
    }
    this.#deps.send({ kind: "step", held, outputs, promptLogprobs });
    for (const [run, fate] of left) {
      this.#runs.delete(run.id);
      if (fate === "saves") await this.#save(run);
      else if (fate === "forked") this.#deps.send({ kind: "forked", run: run.id });
    }
  }

  async #save(run: ChildRun): Promise<void> {
    try {
      await this.#sequence(run.slot).saveStateToFile(run.saveTo ?? "");
      this.#deps.send({ kind: "saved", run: run.id });
    } catch (error) {
      await this.#fail(run.id, run.slot, error);
    }
  }

  async #fail(run: number, slot: number, error: unknown): Promise<void> {
    const problem = this.#explain(error);
    this.#runs.delete(run);
    await this.#replaceSequence(slot);
    this.#deps.send({ kind: "failed", run, problem });
  }

  /** A sequence on which anything failed may fail for ever; a fresh one does not. */
  async #replaceSequence(slot: number): Promise<void> {
    await this.#sequence(slot).dispose();
    this.#sequences[slot] = this.#deps.newSequence();
  }

  #sequence(slot: number): NativeSequence {
    const sequence = this.#sequences[slot];
    if (sequence === undefined) throw new RangeError(`there is no slot ${slot}`);
    return sequence;
  }

  #explain(error: unknown): string {
    const text = error instanceof Error ? error.message : String(error);
    const complaint = this.#deps.lastComplaint();
    return complaint === undefined ? text : `${text} (${complaint})`;
  }
}

function answersOf(result: PromiseSettledResult<Answers> | undefined): Answers {
  if (result?.status !== "fulfilled") throw result?.reason;
  return result.value;
}
