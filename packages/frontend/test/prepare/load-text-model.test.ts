import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { loadTextModel } from "../../src/prepare/load-text-model.ts";
import { byteArtifact, turnEndId } from "../support/byte-artifact.ts";

const clock = new VirtualClock();

describe("a text model of an artifact", () => {
  it("renders, encodes and decodes as the tokenizer says", async () => {
    const model = await loadTextModel(clock, byteArtifact());

    const prompt = model.renderChat([{ role: "user", content: "é" }]);
    const tokens = await model.encode(prompt, { special: false });
    const decoder = model.decoder();
    const text = [...tokens].map((id) => decoder.push(id)).join("") + decoder.flush();

    expect(prompt).toBe("user:é<end>");
    expect([...tokens]).toEqual([...new TextEncoder().encode("user:é"), turnEndId]);
    expect(text).toBe("user:é");
    expect(model.endsGeneration(turnEndId)).toBe(true);
    expect(model.endsGeneration(65)).toBe(false);
    expect(model.vocabularySize).toBe(257);
    expect([...model.bytes(65)]).toEqual([65]);
  });

  it("refuses a chat where the model has no template", async () => {
    const model = await loadTextModel(clock, byteArtifact(null));

    expect(() => model.renderChat([{ role: "user", content: "Hi" }])).toThrow(
      expect.objectContaining({ code: "unsupported" }),
    );
  });

  it("passes the template's own refusal on to the client", async () => {
    const model = await loadTextModel(clock, byteArtifact("{{ raise_exception('only users') }}"));

    expect(() => model.renderChat([{ role: "system", content: "Hi" }])).toThrow(
      expect.objectContaining({ code: "invalid_request", message: "only users" }),
    );
  });

  it("rejects bytes that are no tokenizer", async () => {
    await expect(loadTextModel(clock, Uint8Array.of(1, 2))).rejects.toMatchObject({
      code: "engine_protocol",
    });
  });
});
