import { describe, expect, it } from "vitest";
import { AskQueue } from "../src/ask-queue.ts";

/** Tasks that end when the test says so. */
function tasks() {
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const task = (name: string) => () => {
    started.push(name);
    return new Promise<string>((resolve, reject) => {
      ends.set(name, (error) => (error === undefined ? resolve(name) : reject(error)));
    });
  };
  const end = async (name: string, error?: Error) => {
    ends.get(name)?.(error);
    // Enough turns of the promise queue for the next task to begin.
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  return { started, task, end };
}

describe("AskQueue", () => {
  it("runs so many at once, and the rest in order as places are freed", async () => {
    const queue = new AskQueue({ concurrency: 2, maxWaiting: 10 });
    const { started, task, end } = tasks();
    const results = ["a", "b", "c", "d"].map((name) => queue.run(task(name)));

    expect(started).toEqual(["a", "b"]);
    expect(queue.size).toBe(4);
    await end("b");
    expect(started).toEqual(["a", "b", "c"]);
    await end("a");
    await end("c");
    await end("d");

    expect(await Promise.all(results)).toEqual(["a", "b", "c", "d"]);
    expect(queue.size).toBe(0);
  });

  it("goes on after a task that fails", async () => {
    const queue = new AskQueue({ concurrency: 1, maxWaiting: 10 });
    const { started, task, end } = tasks();
    const first = queue.run(task("a")).catch((error: Error) => error.message);
    const second = queue.run(task("b"));

    await end("a", new Error("no"));
    await end("b");

    expect(await first).toBe("no");
    expect(await second).toBe("b");
    expect(started).toEqual(["a", "b"]);
  });

  it("refuses when too many wait", async () => {
    const queue = new AskQueue({ concurrency: 1, maxWaiting: 1 });
    const { task, end } = tasks();
    const running = queue.run(task("a"));
    const waiting = queue.run(task("b"));

    await expect(queue.run(task("c"))).rejects.toMatchObject({ code: "overloaded" });

    await end("a");
    await end("b");
    expect(await Promise.all([running, waiting])).toEqual(["a", "b"]);
  });
});
