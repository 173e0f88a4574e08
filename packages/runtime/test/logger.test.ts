import { describe, expect, it } from "vitest";
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

  it("can be silent", () => {
    expect(silentLogger().isLevelEnabled("fatal")).toBe(false);
  });
});
