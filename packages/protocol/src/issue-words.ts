import type { z } from "zod";

/** For `safeParse`: what is wrong with a value in the words of our own errors, where a schema has none. */
export const issueWords: { readonly error: z.core.$ZodErrorMap } = { error: wordsOf };

/** Undefined leaves the message to the validator. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "too_big":
      return `must ${bound(issue.origin)}${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${unit(issue.origin, issue.maximum)}`;
    case "too_small":
      return `must ${bound(issue.origin)}${issue.inclusive ? "at least" : "more than"} ${issue.minimum}${unit(issue.origin, issue.minimum)}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "invalid_type":
      return issue.input === undefined ? undefined : `must be ${article(issue.expected)}`;
    default:
      return undefined;
  }
}

function bound(origin: string): string {
  return unit(origin, 0) === "" ? "be " : "have ";
}

function unit(origin: string, count: number | bigint): string {
  const isOne = Number(count) === 1;
  if (origin === "string") return isOne ? " character" : " characters";
  if (origin === "array" || origin === "set") return isOne ? " entry" : " entries";
  return "";
}

function article(type: string): string {
  if (type === "int") return "a whole number";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
