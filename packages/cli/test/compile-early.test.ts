import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const compileEarlyFile = fileURLToPath(new URL("../src/compile-early.ts", import.meta.url));

/** Whether V8 has optimized a small function after 500 to 600 calls, in a process of its own. By itself it needs over 1,000. */
function isOptimized(isEarly: boolean): boolean {
  const script = `
    const { compileEarly } = await import(${JSON.stringify(compileEarlyFile)});
    if (${isEarly}) compileEarly();
    const { setTimeout: wait } = await import("node:timers/promises");
    const work = new Function("n", "let sum = 0; for (const one of [n, 2, 3]) sum += one % 7; return sum;");
    const status = new Function("work", "return %GetOptimizationStatus(work)");
    const isOptimized = () => (status(work) & (1 << 4)) !== 0;
    // It is compiled on another thread.
    for (let call = 0; call < 600 && !isOptimized(); call += 1) {
      work(call);
      if (call > 500) await wait(20);
    }
    console.log(isOptimized());
  `;
  const flags = ["--allow-natives-syntax", "--import", "tsx", "--input-type=module"];
  const output = execFileSync(process.execPath, [...flags, "-e", script], { encoding: "utf8" });
  return output.trim() === "true";
}

describe("a process that compiles early", () => {
  it("has optimized after some hundred calls what another one has not", () => {
    expect(isOptimized(true)).toBe(true);
    expect(isOptimized(false)).toBe(false);
  });
});
