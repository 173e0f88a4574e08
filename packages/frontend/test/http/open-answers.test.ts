import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { OpenAnswers } from "../../src/http/open-answers.ts";

async function closed(socket: Socket): Promise<void> {
  const closing = new Promise((resolve) => socket.once("close", resolve));
  socket.destroy();
  await closing;
}

describe("OpenAnswers", () => {
  it("cancels what a connection still waits for when it closes", async () => {
    const answers = new OpenAnswers();
    const cancelled: string[] = [];
    const handleOf = (name: string) => ({ cancel: () => void cancelled.push(name) });
    const [one, other] = [new Socket(), new Socket()];
    const complete = handleOf("complete");
    answers.add(one, complete);
    answers.add(one, handleOf("first"));
    answers.add(one, handleOf("second"));
    answers.add(other, handleOf("other"));
    answers.remove(one, complete);

    await closed(one);

    expect(cancelled).toEqual(["first", "second"]);
  });

  it("listens to a connection once, however many requests it carries", () => {
    const answers = new OpenAnswers();
    const socket = new Socket();
    const before = socket.listenerCount("close");

    for (let i = 0; i < 20; i += 1) answers.add(socket, { cancel: () => undefined });

    expect(socket.listenerCount("close")).toBe(before + 1);
  });
});
