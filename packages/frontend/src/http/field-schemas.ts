import { z } from "zod";

/** A whole number within bounds. */
export const integer = (least: number, most: number) =>
  z
    .number({ error: "must be a number" })
    .int({ error: "must be a whole number" })
    .min(least, { error: `must be at least ${least}` })
    .max(most, { error: `must be at most ${most}` });
/** A number within bounds. */
export const number = (least: number, most: number) =>
  z
    .number({ error: "must be a number" })
    .min(least, { error: `must be at least ${least}` })
    .max(most, { error: `must be at most ${most}` });
export const boolean = () => z.boolean({ error: "must be true or false" });
export const text = () => z.string({ error: "must be a string" });
/** An object without other fields than these. */
export const closedObject = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "must be an object"),
  });
