import { describe, expect, it } from "vitest";
import { docsPage } from "../../../src/http/openapi/docs-page.ts";
import type { OpenApiDocument } from "../../../src/http/openapi/openapi-document.ts";

const document: OpenApiDocument = {
  openapi: "3.1.0",
  info: { title: "Baton", version: "1", description: "All of `it` & <more>." },
  paths: {
    "/do": {
      post: {
        operationId: "do",
        summary: "Does it.",
        parameters: [],
        requestBody: {
          content: { "application/json": { schema: { $ref: "#/components/schemas/DoBody" } } },
        },
        responses: {
          "200": {
            description: "Done.",
            content: { "application/json": {}, "text/event-stream": {} },
          },
          "400": { description: "`a`: One.\n\n`b`: Two.", content: { "application/json": {} } },
        },
      },
    },
  },
  components: {
    schemas: {
      DoBody: {
        required: ["n"],
        properties: {
          n: { type: "integer", minimum: 1, maximum: 9, description: "How many." },
          way: { anyOf: [{ enum: ["up", "down"] }, { type: "null" }] },
          inner: {
            anyOf: [
              { properties: { list: { type: ["array", "null"], items: { type: "string" } } } },
              { type: "null" },
            ],
          },
          all: { type: "array", maxItems: 4, items: { properties: { x: { type: "number" } } } },
          either: {
            anyOf: [{ type: "string", maxLength: 3 }, { type: "null" }, { type: "boolean" }],
          },
        },
      },
    },
  },
};

describe("the API as a page", () => {
  it("shows each path with its fields, their types, and its answers", () => {
    const page = docsPage(document);

    for (const part of [
      '<a href="#do">POST /do</a>',
      "<td>n</td><td>integer 1 to 9</td><td>Required. How many.</td>",
      "<td>way</td><td>&quot;up&quot; or &quot;down&quot;</td>",
      "<td>inner.list</td>",
      "<td>all</td><td>array of at most 4 (anything)</td>",
      "<td>all[].x</td><td>number</td>",
      "<td>either</td><td>string of at most 3 characters or boolean</td>",
      "<td>200</td><td>Done. (application/json, text/event-stream)</td>",
      "<td>400</td><td><code>a</code>: One.<br><code>b</code>: Two.</td>",
    ]) {
      expect(page).toContain(part);
    }
  });

  it("is one file that asks for nothing else, its text escaped", () => {
    const page = docsPage(document);

    expect(page).toContain("All of <code>it</code> &amp; &lt;more&gt;.");
    expect(page).not.toMatch(/<script|<link|<img|src=|https?:/);
  });
});
