import type {
  OutputDelta,
  PromptReport,
  RequestEnd,
  RequestSink,
} from "../../src/request/request-sink.ts";

/** A sink that keeps all that it hears. */
export class RecordingSink implements RequestSink {
  readonly deltas: OutputDelta[] = [];
  readonly ends: RequestEnd[] = [];
  readonly prompts: PromptReport[] = [];
  calls = 0;

  began(prompt: PromptReport): void {
    if (this.calls > 0) throw new Error("output came before the prompt was told of");
    this.prompts.push(prompt);
  }

  output(deltas: readonly OutputDelta[]): void {
    this.calls += 1;
    this.deltas.push(...deltas);
  }

  ended(end: RequestEnd): void {
    this.ends.push(end);
  }

  text(choice = 0): string {
    return this.deltas
      .filter((delta) => delta.choice === choice)
      .map(({ text }) => text)
      .join("");
  }

  /** The one end, as stage and code. */
  outcome(): string {
    const [end] = this.ends;
    if (end === undefined) return "running";
    if (end.kind === "completed") return "completed";
    return end.kind === "failed"
      ? `failed ${end.stage} ${end.error.code}`
      : `cancelled ${end.stage}`;
  }
}
