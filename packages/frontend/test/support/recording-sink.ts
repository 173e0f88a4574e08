import type { OutputDelta, RequestEnd, RequestSink } from "../../src/request/request-sink.ts";

/** A sink that keeps all that it hears. */
export class RecordingSink implements RequestSink {
  readonly deltas: OutputDelta[] = [];
  readonly ends: RequestEnd[] = [];
  calls = 0;

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
