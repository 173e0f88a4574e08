import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as protocol from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { repositoryRoot } from "./source-files.ts";

function isMessage(value: unknown): value is protocol.AnyMessage {
  return typeof value === "object" && value !== null && "encode" in value && "version" in value;
}

const fileOf = ({ name, version }: protocol.AnyMessage) => `${name}-v${version}.hex`;

describe("golden bytes", () => {
  const golden = readdirSync(join(repositoryRoot, "packages/protocol/test/golden"));

  it("stand for every message that the protocol exports, and for no other", () => {
    const messages = (Object.values(protocol) as unknown[]).filter(isMessage);

    expect(messages.length).toBeGreaterThan(30);
    expect(golden.toSorted()).toEqual(messages.map(fileOf).sort());
  });

  it("stand for every message of the subject table", () => {
    const listed = protocol.subjectTable
      .flatMap(({ message, reply }) => [message, reply])
      .filter((message) => message !== null);

    expect(listed.map(fileOf).filter((file) => !golden.includes(file))).toEqual([]);
  });
});
