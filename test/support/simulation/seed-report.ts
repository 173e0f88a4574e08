import { requestStates } from "@baton/protocol";
import type { SeedStats } from "./simulation.ts";

const columns = [
  "idle",
  ...requestStates.filter((state) => !["completed", "failed", "cancelled"].includes(state)),
];

/** Sums the figures of many seeds. */
export class SeedReport {
  readonly #totals = new Map<string, number>();
  readonly #hits = new Map<string, Map<string, number>>();

  add({
    cancelled,
    completed,
    failed,
    hits,
    messages,
    modes,
    requests,
    temper,
    virtualMs,
  }: SeedStats): void {
    this.#count("requests", requests);
    this.#count("completed", completed);
    this.#count("cancelled", cancelled);
    this.#count("messages", messages);
    this.#count("virtual seconds", virtualMs / 1_000);
    for (const [code, times] of Object.entries(failed)) this.#count(`failed ${code}`, times);
    for (const [mode, times] of Object.entries(modes)) this.#count(`mode ${mode}`, times);
    this.#count(`temper ${temper}`, 1);
    for (const [key, times] of Object.entries(hits)) {
      const [what = "", state = ""] = key.split(" | ");
      const row = this.#hits.get(what) ?? new Map<string, number>();
      row.set(state, (row.get(state) ?? 0) + times);
      this.#hits.set(what, row);
    }
  }

  /** The sums in one line. */
  get summary(): string {
    return [...this.#totals].map(([name, amount]) => `${Math.round(amount)} ${name}`).join(", ");
  }

  /** How often each fault met a request in each state, as lines of a table. */
  get coverage(): string[] {
    const names = [...this.#hits.keys()].sort();
    const width = Math.max(...names.map(({ length }) => length), 0);
    const cell = (text: string, column: string) => text.padStart(Math.max(column.length, 5));
    const head = ["fault".padEnd(width), ...columns.map((column) => cell(column, column))];
    return [
      head.join("  "),
      ...names.map((name) =>
        [
          name.padEnd(width),
          ...columns.map((column) => cell(String(this.#hits.get(name)?.get(column) ?? 0), column)),
        ].join("  "),
      ),
    ];
  }

  #count(name: string, amount: number): void {
    this.#totals.set(name, (this.#totals.get(name) ?? 0) + amount);
  }
}
