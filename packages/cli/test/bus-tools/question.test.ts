import { describe, expect, it } from "vitest";
import { type Asked, questionOf } from "../../src/bus-tools/question.ts";

async function ask(asked: Asked, models: readonly string[] = ["m"]) {
  const { endpoint, body } = await questionOf(asked, () => Promise.resolve(models));
  return { endpoint, body: JSON.parse(body) };
}

describe("a question for a Frontend", () => {
  it("makes a user's message of a prompt, for the only model", async () => {
    expect(await ask({ prompt: "Hi" })).toEqual({
      endpoint: "chat",
      body: { model: "m", messages: [{ role: "user", content: "Hi" }] },
    });
  });

  it("takes a body of either endpoint as it is", async () => {
    const chat = { model: "a", messages: [], baton: { session: { id: "s" } } };

    expect(await ask({ body: JSON.stringify(chat) })).toEqual({ endpoint: "chat", body: chat });
    expect(await ask({ body: '{"model":"a","prompt":"x"}' })).toEqual({
      endpoint: "completions",
      body: { model: "a", prompt: "x" },
    });
  });

  it("asks for the model that was said, then the body's, and looks for one only without either", async () => {
    const never = () => Promise.reject(new Error("nobody is to be asked"));
    const body = '{"model":"a","prompt":"x"}';

    expect(JSON.parse((await questionOf({ body, model: "b" }, never)).body).model).toBe("b");
    expect(JSON.parse((await questionOf({ body }, never)).body).model).toBe("a");
  });

  it.each<readonly [string, Asked, readonly string[], string]>([
    ["nothing", {}, [], "say what to ask about: a prompt, or --body FILE, and not both"],
    [
      "two things",
      { prompt: "a", body: "{}" },
      [],
      "say what to ask about: a prompt, or --body FILE, and not both",
    ],
    ["no JSON", { body: "{" }, [], "--body: not JSON: "],
    ["no object", { body: "[]" }, [], "--body: must be a JSON object"],
    ["no model", { prompt: "a" }, [], "--model: no model is served yet"],
    ["several models", { prompt: "a" }, ["m", "n"], "--model: say which one: m, n"],
  ])("is refused with %s", async (_title, asked, models, problem) => {
    await expect(ask(asked, models)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(problem),
    });
  });
});
