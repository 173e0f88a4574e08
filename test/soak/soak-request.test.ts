import { requestStates } from "@baton/protocol";
import { SeededRandom } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import {
  drawRequest,
  type RequestMix,
  requestKinds,
  type SoakRequest,
} from "../support/soak/soak-request.ts";

const mix: RequestMix = {
  model: "mock",
  aggregatedModel: "mock-aggregated",
  leavingShare: 1 / 3,
  leaveWithinMs: 50,
};

function draw(count: number, seed = 1) {
  const random = new SeededRandom(seed);
  return Array.from({ length: count }, (_, number) =>
    drawRequest(number, mix, random.fork(`request ${number}`)),
  );
}

describe("the requests of a soak", () => {
  it("repeat from a seed, whatever was drawn before", () => {
    const [, , third] = draw(3);

    const again = drawRequest(2, mix, new SeededRandom(1).fork("request 2"));

    expect(again).toEqual(third);
    expect(draw(3, 2)).not.toEqual(draw(3));
  });

  it("are of every kind, and a third is left by its client in every way", () => {
    const requests = draw(3_000);

    const leaving = requests.flatMap(({ leaves }) => leaves ?? []);
    const ways = new Set(leaving.map((way) => (way.kind === "state" ? way.state : way.kind)));
    expect(new Set(requests.map(({ kind }) => kind))).toEqual(new Set(requestKinds));
    expect(leaving.length).toBeGreaterThan(900);
    expect(leaving.length).toBeLessThan(1_100);
    expect(ways).toEqual(
      new Set([
        "after",
        "chunks",
        ...requestStates.filter((state) => !["completed", "failed", "cancelled"].includes(state)),
      ]),
    );
  });

  it("are of both models, or of the one there is", () => {
    const modelsOf = (requests: readonly SoakRequest[]) =>
      new Set(
        requests
          .filter(({ kind }) => kind !== "bad input")
          .map(({ body }) => (JSON.parse(body) as { model: string }).model),
      );
    const single = Array.from({ length: 500 }, (_, number) =>
      drawRequest(number, { ...mix, aggregatedModel: null }, new SeededRandom(number)),
    );

    expect(modelsOf(draw(500))).toEqual(new Set(["mock", "mock-aggregated"]));
    expect(modelsOf(single)).toEqual(new Set(["mock"]));
  });

  it("say how many prompts they have", () => {
    const several = draw(500).filter(({ kind }) => kind === "several prompts");

    for (const { body, prompts } of several) {
      expect((JSON.parse(body) as { prompt: unknown[] }).prompt).toHaveLength(prompts);
    }
    expect(several.length).toBeGreaterThan(20);
  });

  it("are never left if their input is bad: that is answered at once", () => {
    const bad = draw(500).filter(({ kind }) => kind === "bad input");

    expect(bad.length).toBeGreaterThan(20);
    expect(bad.every(({ leaves }) => leaves === null)).toBe(true);
  });
});
