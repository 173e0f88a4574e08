import { afterEach, describe, expect, it } from "vitest";
import { ApiRig, chatBody } from "../support/api-rig.ts";
import { answerHello } from "../support/fake-port.ts";

const rigs: ApiRig[] = [];
const app = "https://app.example";

async function rigWith(corsOrigins: readonly string[]): Promise<ApiRig> {
  const rig = await new ApiRig({ corsOrigins }).start();
  rig.port.onSubmit = answerHello;
  rigs.push(rig);
  return rig;
}

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.server.stop();
});

function preflight(rig: ApiRig, origin: string, path = "/v1/chat/completions"): Promise<Response> {
  return fetch(`${rig.url}${path}`, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, content-type, x-stainless-lang",
    },
  });
}

/** What a browser would look at. */
function corsOf({ headers }: Response): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...headers].filter(([name]) => name.startsWith("access-control-") || name === "vary"),
  );
}

const shown = { "access-control-expose-headers": "x-request-id, retry-after, x-should-retry" };

describe("pages of other origins", () => {
  it("may do nothing unless they are configured", async () => {
    const rig = await rigWith([]);

    const asked = await preflight(rig, app);
    const answer = await fetch(`${rig.url}/v1/models`, { headers: { origin: app } });

    expect(asked.status).toBe(405);
    expect([corsOf(asked), corsOf(answer)]).toEqual([{}, {}]);
  });

  it("are told what they may send", async () => {
    const rig = await rigWith([app, "https://other.example"]);

    const asked = await preflight(rig, app);

    expect(asked.status).toBe(204);
    expect(asked.headers.get("content-length")).toBeNull();
    expect(asked.headers.get("x-request-id")).toMatch(/^req-/);
    expect(corsOf(asked)).toEqual({
      ...shown,
      vary: "origin",
      "access-control-allow-origin": app,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "authorization, content-type, x-stainless-lang",
      "access-control-max-age": "7200",
    });
  });

  it("may read every answer: a stream, a refusal, an unknown path", async () => {
    const rig = await rigWith([app]);
    const headers = { origin: app, "content-type": "application/json" };

    const answers = await Promise.all([
      rig.post("/v1/chat/completions", chatBody, { headers }),
      rig.post("/v1/chat/completions", { ...chatBody, stream: true }, { headers }),
      rig.post("/v1/chat/completions", "{", { headers }),
      rig.post("/nowhere", "{", { headers }),
      fetch(`${rig.url}/metrics`, { headers }),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 404, 200]);
    for (const answer of answers) {
      expect(corsOf(answer)).toEqual({
        ...shown,
        vary: "origin",
        "access-control-allow-origin": app,
      });
    }
  });

  it("are all the same if all are allowed", async () => {
    const rig = await rigWith(["*"]);

    const asked = await preflight(rig, "https://anywhere.example");
    const answer = await fetch(`${rig.url}/live`, { headers: { origin: "null" } });

    expect(corsOf(asked)).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "POST",
    });
    expect(corsOf(answer)).toEqual({ ...shown, "access-control-allow-origin": "*" });
  });

  it("learn nothing if they are not among those allowed", async () => {
    const rig = await rigWith([app]);

    const asked = await preflight(rig, "https://app.example.evil");
    const answer = await fetch(`${rig.url}/live`, { headers: { origin: "http://app.example" } });

    expect([asked.status, corsOf(asked)]).toEqual([204, { vary: "origin" }]);
    expect([answer.status, corsOf(answer)]).toEqual([200, { vary: "origin" }]);
  });

  it("get 404 for a path that there is not, and 405 for a method", async () => {
    const rig = await rigWith([app]);

    const unknown = await preflight(rig, app, "/nowhere");
    const plain = await fetch(`${rig.url}/v1/models`, { method: "OPTIONS" });

    expect([unknown.status, plain.status]).toEqual([404, 405]);
    expect(plain.headers.get("allow")).toBe("GET, HEAD");
  });
});
