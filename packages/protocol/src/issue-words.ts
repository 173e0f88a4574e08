import type { z } from "zod";

/** For `safeParse`: what is wrong with a value in the words of our own errors, where a schema has none. */
export const issueWords: { readonly error: z.core.$ZodErrorMap } = { error: wordsOf };

/** Undefined leaves the message to the validator. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "too_big":
      return `must ${bound(issue.origin)}${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${unit(issue.origin)}`;
    case "too_small":
      return `must ${bound(issue.origin)}${issue.inclusive ? "at least" : "more than"} ${issue.minimum}${unit(issue.origin)}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "invalid_type":
      return issue.input === undefined ? undefined : `must be ${article(issue.expected)}`;
    default:
      return undefined;
  }
}

function bound(origin: string): string {
  return unit(origin) === "" ? "be " : "have ";
}

function unit(origin: string): string {
  if (origin === "string") return " characters";
  return origin === "array" || origin === "set" ? " entries" : "";
}

function article(type: string): string {
  if (type === "int") return "a whole number";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
