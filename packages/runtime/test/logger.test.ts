import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { createLogger, silentLogger } from "../src/logger.ts";
import { VirtualClock } from "../src/virtual-clock.ts";

function captured() {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const clock = new VirtualClock(5_000);
  const log = createLogger({ level: "info", actor: "worker", id: "w-1", clock, destination });
  return { lines, log };
}

describe("createLogger", () => {
  it("writes one JSON line with level, actor, id and the clock's time", () => {
    const { lines, log } = captured();

    log.info({ workerId: "w-2" }, "worker removed");
    log.debug("not shown");

    expect(lines).toEqual([
      {
        level: "info",
        time: 5_000,
        actor: "worker",
        id: "w-1",
        workerId: "w-2",
        msg: "worker removed",
      },
    ]);
  });

  it("hides secrets wherever they are in the fields", () => {
    const { lines, log } = captured();

    log.info({ secret: "s1", ticket: { secret: "s2" }, a: { b: { password: "s3" } } }, "ticket");

    const text = JSON.stringify(lines);
    expect(text).not.toMatch(/s1|s2|s3/);
    expect(lines[0]).toMatchObject({ secret: "redacted", ticket: { secret: "redacted" } });
  });

  it("ends nobody while the disk is full, keeps no more than a MiB, and goes on when there is room", () => {
    const folder = fs.mkdtempSync(join(tmpdir(), "baton-log-"));
    const path = join(folder, "log");
    const fd = fs.openSync(path, "w");
    const log = createLogger({ level: "info", fd });
    const write = vi.spyOn(fs, "writeSync").mockImplementation(() => {
      throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    });
    try {
      for (let line = 0; line < 3_000; line += 1) log.info({ line }, "x".repeat(1_000));
      expect(write).toHaveBeenCalled();
      write.mockRestore();
      log.info("room again");
      log.info("and again");

      const text = fs.readFileSync(path, "utf8");
      const numbers = text
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { line?: number }).line);
      expect(numbers.slice(0, 3)).toEqual([0, 1, 2]);
      expect(numbers.length).toBeGreaterThan(900);
      expect(numbers.length).toBeLessThan(1_050);
      expect(text).toContain("and again");
    } finally {
      write.mockRestore();
      fs.closeSync(fd);
      fs.rmSync(folder, { recursive: true });
    }
  });

  it("can be silent", () => {
    expect(silentLogger().isLevelEnabled("fatal")).toBe(false);
  });
});
