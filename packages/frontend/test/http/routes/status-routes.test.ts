import { describe, expect, it } from "vitest";
import { healthAnswer } from "../../../src/http/openapi/answer-schemas.ts";
import { apiRigs } from "../../support/rigs.ts";

const rigWith = apiRigs();

async function health(url: string) {
  const response = await fetch(`${url}/health`);
  expect(response.headers.get("retry-after")).toBe(response.status === 503 ? "1" : null);
  return { status: response.status, body: healthAnswer.parse(await response.json()) };
}

describe("the health of a Frontend", () => {
  it("is good while a worker answers, ready or not", async () => {
    const rig = await rigWith({}, [{ id: "p1", type: "prefill" }]);

    expect(await health(rig.url)).toMatchObject({
      status: 200,
      body: { status: "healthy", why: null, models: [{ id: "m", ready: false }] },
    });
  });

  it("is bad when no worker answers", async () => {
    const rig = await rigWith();
    rig.view.lose("p1");
    rig.view.lose("d1");
    rig.directory.changed();
    const empty = await rigWith({}, []);

    const bad = { status: 503, body: { status: "not_ready", why: "no worker answers" } };
    expect(await health(rig.url)).toMatchObject(bad);
    expect(await health(empty.url)).toMatchObject(bad);
  });

  it("is bad while no model of those with workers can be read", async () => {
    const rig = await rigWith();
    const why = { code: "activating", text: "the tokenizer of m is being loaded" } as const;
    rig.textWhy = why;
    rig.directory.changed();

    expect(await health(rig.url)).toMatchObject({
      status: 503,
      body: { why: why.text, models: [{ id: "m", ready: false, why }] },
    });
  });

  it("is bad while it takes no requests", async () => {
    const rig = await rigWith();
    rig.why = "draining";

    expect(await health(rig.url)).toMatchObject({ status: 503, body: { why: "draining" } });
  });
});
