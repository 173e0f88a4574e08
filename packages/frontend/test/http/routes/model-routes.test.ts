import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { readinessAnswer } from "../../../src/http/openapi/answer-schemas.ts";
import { apiRigs } from "../../support/rigs.ts";

const rigWith = apiRigs();

async function ask(url: string) {
  const response = await fetch(url);
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body };
}

describe("whether a model is ready", () => {
  it("is told with its roles and workers", async () => {
    const rig = await rigWith();

    const { status, body } = await ask(`${rig.url}/v1/models/m/ready`);

    expect(status).toBe(200);
    expect(readinessAnswer.parse(body)).toEqual({
      object: "model.readiness",
      id: "m",
      ready: true,
      mode: "disaggregated",
      why: null,
      roles: [
        {
          role: "decode",
          set: "decode",
          needs: [["prefill"]],
          workers: [{ id: "d1", state: "live" }],
        },
        {
          role: "prefill",
          set: "prefill",
          needs: [["decode"]],
          workers: [{ id: "p1", state: "live" }],
        },
      ],
      present: ["decode", "prefill"],
      missing: [],
      ambiguous: [],
    });
  });

  it("is the error of a request that came now where something is missing, with the rest beside it", async () => {
    const rig = await rigWith();
    rig.view.lose("d1");
    rig.directory.changed();

    const { status, headers, body } = await ask(`${rig.url}/v1/models/m/ready`);

    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("1");
    expect(body).toMatchObject({
      error: { code: "not_ready", why: { code: "missing_decode" } },
      ready: false,
      mode: null,
      why: { code: "missing_decode" },
      present: ["prefill"],
      missing: ["decode"],
      roles: [{ workers: [{ id: "d1", state: "lost" }] }, {}],
    });
  });

  it("is asked with slashes in the name plain or escaped", async () => {
    const rig = await rigWith({}, [{ id: "a1", type: "aggregated", model: "org/na me" }]);

    for (const path of ["org/na%20me/ready", "org%2Fna%20me/ready", "org%2Fna%20me%2Fready"]) {
      expect(await ask(`${rig.url}/v1/models/${path}`)).toMatchObject({
        status: 200,
        body: { id: "org/na me", ready: true },
      });
    }
  });

  it("is no question about a model whose own name ends like one", async () => {
    const rig = await rigWith({}, [
      { id: "a1", type: "aggregated", model: "x" },
      { id: "a2", type: "aggregated", model: "x/ready" },
    ]);

    expect((await ask(`${rig.url}/v1/models/x/ready`)).body).toMatchObject({
      object: "model",
      id: "x/ready",
    });
  });

  it("is 404 for a model that there is not, with what there is", async () => {
    const rig = await rigWith();

    expect(await ask(`${rig.url}/v1/models/x/ready`)).toMatchObject({
      status: 404,
      body: {
        error: {
          code: "model_not_found",
          param: "model",
          message: "the model 'x' does not exist; served here: m",
        },
      },
    });
  });

  it("is what the relay says of routers too", async () => {
    const rig = await rigWith();
    rig.unready = new ServingError("prefill_activating", { why: "activating" });

    const { status, body } = await ask(`${rig.url}/v1/models/m/ready`);

    expect(status).toBe(503);
    expect(body).toMatchObject({ ready: false, mode: null, why: { code: "activating" } });
  });
});
