import { expect, it } from "vitest";
import { z } from "zod";
import { issueWords } from "../src/issue-words.ts";

const schema = z.object({
  port: z.number().int().min(0).max(65_535),
  share: z.number().gt(0).lt(1),
  engine: z.enum(["llama", "mock"]),
  name: z.string().min(1).max(3),
  list: z.array(z.string()).min(1),
  own: z.number({ error: "must be what it is" }),
  map: z.object({}),
});
const good = { port: 1, share: 0.5, engine: "mock", name: "a", list: ["a"], own: 1, map: {} };

it.each([
  [{ port: 70_000 }, "must be at most 65535"],
  [{ port: -1 }, "must be at least 0"],
  [{ port: 1.5 }, "must be a whole number"],
  [{ port: "1" }, "must be a number"],
  [{ share: 0 }, "must be more than 0"],
  [{ share: 1 }, "must be less than 1"],
  [{ engine: "foo" }, 'must be one of "llama", "mock"'],
  [{ name: "" }, "must have at least 1 character"],
  [{ name: "abcd" }, "must have at most 3 characters"],
  [{ list: [] }, "must have at least 1 entry"],
  [{ map: 3 }, "must be an object"],
  [{ own: "x" }, "must be what it is"],
])("%o %s", (fault, words) => {
  const parsed = schema.safeParse({ ...good, ...fault }, issueWords);

  expect(parsed.error?.issues.map(({ message }) => message)).toEqual([words]);
});
