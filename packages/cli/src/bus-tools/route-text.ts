import type { RouteAnswer, RouteCandidate } from "./explain.ts";
import { textTable } from "./text-table.ts";

/** Candidates of a leg that are shown; `--json` has them all. */
const maxShown = 20;

const legs = [
  ["prefill", ["prefill"]],
  ["decode", ["decode", "aggregated"]],
] as const;

/** Where a request would go, for people: leg by leg the choice, then the candidates, the best first. */
export function routeText(answer: RouteAnswer): string {
  return [
    ...headLines(answer),
    ...legs.flatMap(([leg, roles]) => legLines(answer, leg, roles)),
    ...tailLines(answer),
  ]
    .join("\n")
    .concat("\n");
}

function headLines({ error, model, mode, prompt_tokens, block_size }: RouteAnswer): string[] {
  const prompt =
    prompt_tokens === undefined || prompt_tokens === 0
      ? []
      : [`prompt of ${count(prompt_tokens)} tokens, blocks of ${block_size}`];
  const head = [model ?? "", mode ?? "", ...prompt].filter((part) => part !== "").join(", ");
  const known = head === "" ? [] : [head];
  if (error === undefined) return known;
  const refused = [`refused: ${error.message}`, `         ${error.code} in ${error.stage}`];
  return head === "" ? refused : [...known, "", ...refused];
}

function legLines(
  answer: RouteAnswer,
  leg: "prefill" | "decode",
  roles: readonly string[],
): string[] {
  const router = answer.routers?.[leg];
  if (router === undefined) return [];
  const candidates = (answer.candidates ?? []).filter(({ role }) => roles.includes(role));
  const selected = answer.selected?.[leg] ?? null;
  const rank = answer.selected_dp_ranks?.[leg] ?? null;
  const isSelected = ({ worker, dp_rank }: RouteCandidate) =>
    worker === selected && dp_rank === rank;
  const sorted = candidates.toSorted(
    (left, right) =>
      Number(isSelected(right)) - Number(isSelected(left)) ||
      Number(right.eligible) - Number(left.eligible) ||
      costOf(left) - costOf(right),
  );
  const rows = sorted
    .slice(0, maxShown)
    .map((one) => rowOf(one, isSelected(one), answer.prompt_tokens ?? 0));
  const hidden = candidates.length - rows.length;
  return [
    "",
    `${leg}: ${choiceText(answer, leg)}  (${router.mode}, by ${router.id})`,
    candidateTable(rows),
    ...(hidden > 0 ? [`  and ${hidden} more; --json shows all`] : []),
  ];
}

const columns = ["", "WORKER", "RANK", "COST", "CACHED TOKENS", "WHY NOT", "TERMS"];

/** Without the columns that say nothing. */
function candidateTable(rows: readonly (readonly string[])[]): string {
  const isTold = columns.map(
    (_, column) => column < 5 || rows.some((row) => (row[column] ?? "") !== ""),
  );
  const told = (row: readonly string[]) => row.filter((_, column) => isTold[column]);
  return textTable(told(columns), rows.map(told), "  no candidates");
}

function choiceText(answer: RouteAnswer, leg: "prefill" | "decode"): string {
  const worker = answer.selected?.[leg] ?? null;
  if (worker !== null) return `${worker} rank ${answer.selected_dp_ranks?.[leg] ?? 0}`;
  return answer.waits?.includes(leg) ? "would wait for room" : "nobody";
}

function rowOf(
  candidate: RouteCandidate,
  isSelected: boolean,
  promptTokens: number,
): readonly string[] {
  const { worker, dp_rank, cost, cached_tokens, why, terms } = candidate;
  const share = promptTokens === 0 ? 0 : Math.round((100 * cached_tokens) / promptTokens);
  return [
    isSelected ? "→" : " ",
    worker,
    String(dp_rank),
    cost === null ? "–" : figure(cost),
    cached_tokens === 0 ? "0" : `${count(cached_tokens)} (${share}%)`,
    why?.replaceAll("_", " ") ?? "",
    Object.entries(terms)
      .filter(([name, value]) => value !== (neutral[name] ?? 0))
      .map(([name, value]) => `${name} ${figure(value)}`)
      .join(", "),
  ];
}

/** Terms that change nothing at another value than 0. */
const neutral: Readonly<Record<string, number>> = { decay: 1, preference_factor: 1 };

function tailLines({ decode_constraints, ignored = [] }: RouteAnswer): string[] {
  const required = decode_constraints?.required ?? [];
  const preferred = Object.entries(decode_constraints?.preferred ?? {});
  const asks = [
    ...required.map((taint) => `requires ${taint}`),
    ...preferred.map(([taint, weight]) => `prefers ${taint} (${figure(weight)})`),
  ];
  return [
    ...(asks.length === 0 ? [] : ["", `the prefill worker ${asks.join(", ")} of decode`]),
    ...(ignored.length === 0 ? [] : ["", `without effect: ${ignored.join(", ")}`]),
  ];
}

function costOf({ cost }: RouteCandidate): number {
  return cost ?? Number.POSITIVE_INFINITY;
}

/** At most three digits behind the point, none that say nothing. */
function figure(value: number): string {
  return String(Math.round(value * 1_000) / 1_000);
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
