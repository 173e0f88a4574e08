import { errorRules } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { readText, sourceFiles } from "./source-files.ts";

/** Reserved for keys and limits of clients, which nothing checks yet. */
const notRaisedYet = ["unauthenticated", "forbidden", "rate_limited"];

describe("docs/errors.md", () => {
  const rows = [...readText("docs/errors.md").matchAll(/^\| `(\w+)` \| (\d+) \| `(\w+)` \|/gm)];

  it("lists every code, and no other", () => {
    const listed = rows.map(([, code]) => code);

    expect(listed.toSorted()).toEqual(Object.keys(errorRules).sort());
  });

  it("gives each code its status and type", () => {
    const listed = rows.map(([, code, status, type]) => [code, Number(status), type]);

    expect(listed).toEqual(
      Object.entries(errorRules).map(([code, { status, type }]) => [code, status, type]),
    );
  });

  it("lists codes that something raises", () => {
    const text = sourceFiles()
      .filter(({ path }) => path !== "packages/protocol/src/errors.ts")
      .map((file) => file.text)
      .join("\n");

    const unused = Object.keys(errorRules).filter((code) => !text.includes(`"${code}"`));

    expect(unused).toEqual(notRaisedYet);
  });
});
