import { describe, expect, it } from "vitest";
import type { ClientEnd } from "../support/soak/soak-client.ts";
import type { RequestKind } from "../support/soak/soak-request.ts";
import { judge } from "../support/soak/soak-run.ts";

const asked = (kind: RequestKind) => ({
  id: "soak-1",
  kind,
  path: "",
  body: "",
  isStreamed: false,
  prompts: 1,
  leaves: null,
});
const failed = (code: string): ClientEnd => ({ kind: "failed", code, stage: "", message: "" });

describe("an end", () => {
  it.each([
    ["chat", { kind: "completed" }, false, "fits"],
    ["chat", { kind: "left" }, true, "fits"],
    ["chat", { kind: "broken", why: "cut" }, true, "wrong"],
    ["chat", failed("internal"), true, "wrong"],
    ["chat", failed("invalid_request"), true, "wrong"],
    ["chat", failed("worker_lost"), true, "lost"],
    ["chat", failed("worker_lost"), false, "starved"],
    ["chat", failed("router_lost"), true, "starved"],
    ["chat", failed("not_ready"), true, "lost"],
    ["chat", failed("not_ready"), false, "wrong"],
    ["chat", failed("kv_transfer_failed"), false, "wrong"],
    ["bad input", failed("model_not_found"), false, "fits"],
    ["bad input", failed("worker_lost"), true, "wrong"],
    ["bad input", { kind: "completed" }, false, "wrong"],
  ] as const)(
    "of %s with %j while workers are killed (%s) is judged: %s",
    (kind, end, is, verdict) => {
      expect(judge(asked(kind), end, is)).toBe(verdict);
    },
  );
});
