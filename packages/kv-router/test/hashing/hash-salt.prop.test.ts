import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinHashSalts } from "../../src/index.ts";

/** Salts that are made to be taken for one another. */
const salt = fc.oneof(
  fc.string(),
  fc
    .array(fc.constantFrom("0", "1", "2", ":", "a"), { maxLength: 6 })
    .map((parts) => parts.join("")),
);

describe("joined salts", () => {
  it("are the same for the same pair only", () => {
    fc.assert(
      fc.property(salt, salt, salt, salt, (card, tenant, otherCard, otherTenant) => {
        const areEqual = card === otherCard && tenant === otherTenant;
        expect(joinHashSalts(card, tenant) === joinHashSalts(otherCard, otherTenant)).toBe(
          areEqual,
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it("leave a tenant's own salt alone where the card has none", () => {
    expect(joinHashSalts("", "tenant-a")).toBe("tenant-a");
    expect(joinHashSalts("", "")).toBe("");
  });

  it("keep apart a tenant whose salt is written like a pair", () => {
    expect(joinHashSalts("", "1:ab")).not.toBe(joinHashSalts("a", "b"));
    expect(joinHashSalts("1", ":a")).not.toBe(joinHashSalts("", "1:a"));
    expect(joinHashSalts("a", "")).not.toBe(joinHashSalts("", "a"));
  });
});
