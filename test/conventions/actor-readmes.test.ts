import { type ActorRole, actorRoles, subjectTable } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { readText } from "./source-files.ts";

/** Served by the runtime for every actor alike, and described in its README. */
const everyActors = /heartbeat|\.probe\.|^baton\.probe|ping/;

/** What an actor hears, as the words after the model in its subject, without ids. */
function servedBy(role: ActorRole): string[] {
  return subjectTable
    .filter(({ subscribers }) => subscribers.includes(role))
    .map(({ pattern }) => pattern)
    .filter((pattern) => !everyActors.test(pattern))
    .map((pattern) =>
      pattern
        .split(".")
        .slice(5)
        .filter((token) => token !== "<id>")
        .join("."),
    );
}

/** The pieces of a README that are set as code. */
function codeOf(markdown: string): string[] {
  return markdown.match(/`[^`\n]+`/g) ?? [];
}

describe("the README of an actor", () => {
  it.each(actorRoles)("names each subject that %s serves", (role) => {
    const code = codeOf(readText(`packages/${role}/README.md`));
    const names = (verb: string) =>
      code.some((span) => new RegExp(`[.\`]${verb.replaceAll(".", "\\.")}(?![\\w-])`).test(span));

    const missing = servedBy(role).filter((verb) => !names(verb));

    expect(missing).toEqual([]);
  });

  it.each(actorRoles)("says what happens when the peers of %s are gone", (role) => {
    expect(readText(`packages/${role}/README.md`)).toMatch(/gone|lost/i);
  });
});
