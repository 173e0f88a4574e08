import { ServingError } from "@baton/protocol";
import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { TextModels } from "../../src/prepare/text-models.ts";
import { TokenizeService } from "../../src/prepare/tokenize-service.ts";
import { ModelDirectory } from "../../src/relay/model-directory.ts";
import { fakeTextModel, tokensOf } from "../support/fake-text-model.ts";
import { FakeView } from "../support/fake-view.ts";

function service(load = () => Promise.resolve(fakeTextModel)) {
  const directory = new ModelDirectory(new FakeView([{ id: "a1", type: "aggregated" }]));
  const textModels = new TextModels(1, load);
  return new TokenizeService({ clock: new VirtualClock(0), directory, textModels });
}

describe("tokenizing without generating", () => {
  it("decodes many tokens as it does few, and half a character at their end", async () => {
    const text = "né😀".repeat(2_000);
    const tokens = [...tokensOf(text), 0xf0, 0x9f];

    expect(await service().detokenize("m", tokens)).toBe(`${text}\ufffd`);
  });

  it("keeps a byte order mark", async () => {
    expect(await service().detokenize("m", tokensOf("\ufeffa"))).toBe("\ufeffa");
  });

  it("is refused for a model that there is not, and where there is no tokenizer", async () => {
    const broken = service(() => Promise.reject(new ServingError("engine_protocol")));
    const ask = { prompt: { kind: "text", text: "a" }, special: true } as const;

    await expect(service().tokenize({ ...ask, model: "x" })).rejects.toMatchObject({
      code: "model_not_found",
    });
    await expect(broken.tokenize({ ...ask, model: "m" })).rejects.toMatchObject({
      code: "engine_protocol",
    });
  });
});
