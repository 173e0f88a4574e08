import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { modelName, namespaceName, nameToken, Subjects, subjectRow } from "../src/index.ts";

const name = fc
  .oneof(
    fc
      .string({ minLength: 1, maxLength: 300, unit: "binary" })
      .filter((text) => text.isWellFormed()),
    fc
      .array(fc.constantFrom(".", "/", "*", ">", " ", "a", "A", "é", "字", "🙂"), {
        minLength: 1,
        maxLength: 150,
      })
      .map((parts) => parts.join("")),
  )
  .filter((text) => text.length >= 1 && text.length <= 300);

describe("subjects", () => {
  it("stay one token per name, whatever the name", () => {
    fc.assert(
      fc.property(name, name, (namespace, model) => {
        const subject = new Subjects(namespaceName(namespace)).loadsReported(modelName(model));

        expect(subject).toMatch(/^baton\.v1\.[a-z0-9-]+\.[a-z0-9-]+\.worker\.load\.reported\.\*$/);
      }),
    );
  });

  it("never give two names one token", () => {
    fc.assert(
      fc.property(name, name, (left, right) => {
        expect(nameToken(modelName(left)) === nameToken(modelName(right))).toBe(left === right);
      }),
    );
  });

  it("tell names apart that differ only in what a subject cannot hold", () => {
    const tokens = ["a.b", "a/b", "a b", "a*b", "a>b", "A.B", "a-b", "ａ．ｂ"].map((text) =>
      nameToken(modelName(text)),
    );

    expect(new Set(tokens).size).toBe(tokens.length);
  });

  it.each(["", "x".repeat(301), "\ud800"])("refuse the name %j", (text) => {
    expect(() => modelName(text)).toThrow(expect.objectContaining({ code: "config_invalid" }));
  });

  it("are found in the table again", () => {
    const subjects = new Subjects(namespaceName("default"));
    const model = modelName("org/model");

    expect(subjectRow(subjects.worker("abort", model, "w" as never))?.pattern).toContain(
      "abort.<id>",
    );
    expect(subjectRow(subjects.abortAnywhere(model))?.pattern).toMatch(/abort$/);
    expect(subjectRow(subjects.inbox("w" as never))).toBeUndefined();
  });
});
