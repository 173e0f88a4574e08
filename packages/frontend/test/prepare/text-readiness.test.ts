import { modelName, ServingError } from "@baton/protocol";
import { silentLogger, VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { type NamedCard, TextReadiness } from "../../src/prepare/text-readiness.ts";

/** Text models that are there, or fail, when the test says so. */
class PlayedModels {
  readonly asked: string[] = [];
  readonly #pending = new Map<string, { resolve(): void; reject(error: Error): void }>();

  warmUp(_model: string, checksum: string): Promise<void> {
    this.asked.push(checksum);
    return new Promise((resolve, reject) => this.#pending.set(checksum, { resolve, reject }));
  }

  async load(checksum: string): Promise<void> {
    this.#pending.get(checksum)?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async fail(checksum: string, problem: string): Promise<void> {
    this.#pending.get(checksum)?.reject(new ServingError("not_ready", { problem }));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function played() {
  const clock = new VirtualClock();
  const textModels = new PlayedModels();
  let changes = 0;
  const readiness = new TextReadiness({
    textModels,
    clock,
    log: silentLogger(),
    warmUpMs: 10_000,
    onChange: () => {
      changes += 1;
    },
  });
  return { clock, textModels, readiness, changes: () => changes };
}

const card = (name: string, tokenizerChecksum: string): NamedCard => ({
  name: modelName(name),
  card: { tokenizerChecksum },
});

describe("the text models of a Frontend that starts", () => {
  it("are waited for until each is loaded or cannot be had", async () => {
    const { textModels, readiness, changes } = played();

    readiness.follow([card("m", "a"), card("o", "b")]);
    expect(readiness.waitsFor()).toBe("loads the tokenizer of m, o");
    await textModels.load("a");
    expect(readiness.waitsFor()).toBe("loads the tokenizer of o");
    await textModels.fail("b", "nobody has it");

    expect(readiness.waitsFor()).toBeNull();
    expect(changes()).toBe(2);
    readiness.stop();
  });

  it("are waited for only so long", async () => {
    const { clock, readiness, changes } = played();

    readiness.follow([card("m", "a")]);
    readiness.waitsFor();
    await clock.advanceBy(9_999);
    expect(readiness.waitsFor()).not.toBeNull();
    await clock.advanceBy(1);

    expect(changes()).toBe(1);
    expect(readiness.waitsFor()).toBeNull();
    expect(readiness.why("m", "a")?.text).toBe("the tokenizer of m is being loaded");
  });

  it("are not waited for where there are none, nor any that come later", () => {
    const { clock, readiness } = played();

    readiness.follow([{ name: modelName("m"), card: null }]);
    expect(readiness.waitsFor()).toBeNull();
    readiness.follow([card("m", "a")]);

    expect(readiness.waitsFor()).toBeNull();
    expect(readiness.why("m", "a")).toEqual({ code: "activating", text: expect.any(String) });
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("the text models that cards name", () => {
  it("are loaded once, however often the cards are followed", async () => {
    const { textModels, readiness } = played();

    readiness.follow([card("m", "a"), card("o", "a")]);
    await textModels.load("a");
    readiness.follow([card("m", "a")]);

    expect(textModels.asked).toEqual(["a"]);
    expect(readiness.why("m", "a")).toBeNull();
  });

  it("say why they cannot be had, and are tried again after a while or when the cards change", async () => {
    const { clock, textModels, readiness } = played();
    readiness.follow([card("m", "a")]);
    await textModels.fail("a", "nobody has it");
    expect(readiness.why("m", "a")).toEqual({ code: "activating", text: "nobody has it" });

    await clock.advanceBy(5_000);
    await textModels.fail("a", "still nobody");
    readiness.follow([card("m", "a")]);
    await textModels.load("a");

    expect(textModels.asked).toEqual(["a", "a", "a"]);
    expect(readiness.why("m", "a")).toBeNull();
    readiness.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it("are forgotten with their cards, whatever becomes of them", async () => {
    const { clock, textModels, readiness, changes } = played();

    readiness.follow([card("m", "a")]);
    readiness.follow([]);
    await textModels.fail("a", "nobody has it");

    expect(readiness.why("m", "a")).toBeNull();
    expect(changes()).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
