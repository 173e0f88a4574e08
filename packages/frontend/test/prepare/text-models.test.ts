import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { TextModels } from "../../src/prepare/text-models.ts";
import { fakeTextModel } from "../support/fake-text-model.ts";

function counted(max: number) {
  const loads: string[] = [];
  const models = new TextModels(max, (_model, checksum) => {
    loads.push(checksum);
    return checksum === "bad"
      ? Promise.reject(new ServingError("not_ready"))
      : Promise.resolve(fakeTextModel);
  });
  return { loads, models };
}

describe("the text models in use", () => {
  it("are loaded once for all who wait", async () => {
    const { loads, models } = counted(2);

    await Promise.all([models.get("m", "a"), models.get("m", "a"), models.warmUp("m", "a")]);

    expect(loads).toEqual(["a"]);
  });

  it("are forgotten, the longest unused first, when there are too many", async () => {
    const { loads, models } = counted(2);

    await models.get("m", "a");
    await models.get("m", "b");
    await models.get("m", "a");
    await models.get("m", "c");
    await models.get("m", "a");
    await models.get("m", "b");

    expect(loads).toEqual(["a", "b", "c", "b"]);
  });

  it("are there once they are warmed up, whoever asked for them first", async () => {
    const { loads, models } = counted(2);
    let isThere = false;
    const asked = models.get("m", "a").then(() => {
      isThere = true;
    });

    await models.warmUp("m", "a");

    expect(isThere).toBe(true);
    await asked;
    await expect(models.warmUp("m", "bad")).rejects.toMatchObject({ code: "not_ready" });
    expect(loads).toEqual(["a", "bad"]);
  });

  it("are tried again after a failure", async () => {
    const { loads, models } = counted(2);

    await expect(models.get("m", "bad")).rejects.toMatchObject({ code: "not_ready" });
    await expect(models.get("m", "bad")).rejects.toMatchObject({ code: "not_ready" });

    expect(loads).toEqual(["bad", "bad"]);
  });

  it("are not loaded ahead of need when that would push out one in use", async () => {
    const { loads, models } = counted(1);

    await models.get("m", "a");
    await models.warmUp("m", "b");

    expect(loads).toEqual(["a"]);
  });
});
