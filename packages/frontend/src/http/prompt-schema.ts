import { z } from "zod";
import type { BodyLimits } from "./body-limits.ts";

/** What `prompt` may be: one prompt as text or token ids, or several of one kind. */
export type BodyPrompts =
  | string
  | readonly string[]
  | readonly number[]
  | readonly (readonly number[])[];

/** A token's id, whatever the model. */
export function tokenIdSchema() {
  return z
    .custom<number>(isTokenId, { error: "must be a token id" })
    .meta({ type: "integer", minimum: 0 });
}

/** Whether a value is an array of at least one token id. A plain loop: a schema of a million ids would make a million reports of one mistake. */
export function isTokenIds(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTokenId);
}

/** Why a value is no array of token ids, as far as that can be said better than by its type. */
export function tokenIdsProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined;
  if (value.length === 0) return "must not be empty";
  const at = value.findIndex((one) => !isTokenId(one));
  return at === -1 ? undefined : `must hold token ids, and [${at}] is none`;
}

/** One prompt or several. */
export function promptsSchema({ maxPrompts }: BodyLimits) {
  const ids = { type: "array", items: { type: "integer", minimum: 0 }, minItems: 1 };
  return z
    .custom<BodyPrompts>((value) => isPrompts(value, maxPrompts), {
      error: ({ input }) => {
        if (Array.isArray(input) && typeof input[0] !== "number" && input.length > maxPrompts) {
          return `must hold at most ${maxPrompts} prompts`;
        }
        const what =
          "must be a string, an array of strings, an array of token ids or an array of those";
        const isIds = Array.isArray(input) && (input.length === 0 || typeof input[0] === "number");
        return (isIds ? tokenIdsProblem(input) : undefined) ?? what;
      },
    })
    .meta({
      anyOf: [
        { type: "string" },
        { type: "array", items: { type: "string" }, minItems: 1, maxItems: maxPrompts },
        ids,
        { type: "array", items: ids, minItems: 1, maxItems: maxPrompts },
      ],
    });
}

function isPrompts(value: unknown, maxPrompts: number): value is BodyPrompts {
  if (typeof value === "string") return true;
  if (!Array.isArray(value) || value.length === 0) return false;
  if (typeof value[0] === "number") return value.every(isTokenId);
  if (value.length > maxPrompts) return false;
  return typeof value[0] === "string"
    ? value.every((one) => typeof one === "string")
    : value.every(isTokenIds);
}

function isTokenId(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < 2 ** 32 && Number.isInteger(value);
}
