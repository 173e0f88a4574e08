import { describe, expect, it } from "vitest";
import { exists, type SourceFile, sourceFiles } from "./source-files.ts";

const up = "test/e2e/up.test.ts";
const startActor = "packages/runtime/test/start-actor.test.ts";
const busContract = "packages/runtime/test/bus/bus-contract.ts";
const registry = "packages/runtime/test/metrics-registry.test.ts";
const relay = "packages/frontend/test/relay/relay.test.ts";
const parseBody = "packages/frontend/test/http/parse-body.test.ts";
const subjects = "packages/protocol/test/subjects.prop.test.ts";

/** Files whose logic is held by a test at another place: parts that make sense only in the whole that is tested there. */
const heldElsewhere: readonly (readonly [file: string, test: string])[] = [
  ["packages/cli/src/bus-tools/status-text.ts", "packages/cli/test/bus-tools/status.test.ts"],
  ["packages/cli/src/bus-tools/tail-text.ts", "packages/cli/test/bus-tools/tail.test.ts"],
  ["packages/cli/src/commands/", up],
  ["packages/cli/src/observer.ts", up],
  ["packages/cli/src/up/", up],
  ["packages/frontend/src/http/field-schemas.ts", parseBody],
  ["packages/frontend/src/http/check-body.ts", parseBody],
  ["packages/frontend/src/http/prompt-schema.ts", parseBody],
  ["packages/frontend/src/http/read-messages.ts", parseBody],
  ["packages/frontend/src/http/read-output.ts", parseBody],
  ["packages/frontend/src/http/request-schema.ts", parseBody],
  ["packages/frontend/src/http/response-format-schema.ts", parseBody],
  [
    "packages/frontend/src/http/logprobs-json.ts",
    "packages/frontend/test/http/answer-json.test.ts",
  ],
  [
    "packages/frontend/src/http/openapi/answer-schemas.ts",
    "packages/frontend/test/http/openapi/openapi-document.test.ts",
  ],
  ["packages/frontend/src/http/replies.ts", "packages/frontend/test/http/api-server.test.ts"],
  [
    "packages/frontend/src/http/tokenize-schema.ts",
    "packages/frontend/test/http/routes/tokenize-routes.test.ts",
  ],
  ["packages/discovery/src/metrics.ts", "packages/discovery/test/actor.test.ts"],
  ["packages/frontend/src/metrics.ts", "packages/frontend/test/actor.test.ts"],
  ["packages/frontend/src/relay/create-relay.ts", relay],
  ["packages/frontend/src/relay/leg.ts", relay],
  ["packages/frontend/src/relay/relayed-request.ts", relay],
  [
    "packages/kv-event-aggregator/src/metrics.ts",
    "packages/kv-event-aggregator/test/actor.test.ts",
  ],
  [
    "packages/kv-event-aggregator/src/state.ts",
    "packages/kv-event-aggregator/test/handlers.test.ts",
  ],
  [
    "packages/kv-transfer/src/kv-transfer-metrics.ts",
    "packages/kv-transfer/test/handoff-ledger.test.ts",
  ],
  ["packages/protocol/src/ids.ts", subjects],
  ["packages/protocol/src/messages/", "packages/protocol/test/golden.test.ts"],
  ["packages/protocol/src/subject-table.ts", subjects],
  ["packages/runtime/src/actor-host.ts", startActor],
  ["packages/runtime/src/actor-metrics.ts", registry],
  ["packages/runtime/src/bus/base-bus.ts", busContract],
  ["packages/runtime/src/bus/bus-metrics.ts", busContract],
  ["packages/runtime/src/metric-families.ts", registry],
  ["packages/runtime/src/metric-names.ts", registry],
  ["packages/runtime/src/no-metrics.ts", startActor],
  [
    "packages/text/src/template/chat-template-error.ts",
    "packages/text/test/template/chat-template.test.ts",
  ],
  [
    "packages/text/src/tokenizer-format-error.ts",
    "packages/text/test/artifact/artifact-codec.test.ts",
  ],
  ["packages/worker/src/create-state.ts", "packages/worker/test/actor.test.ts"],
  ["packages/worker/src/metrics.ts", "packages/worker/test/actor.test.ts"],
  ["packages/worker/src/mover.ts", up],
];

/** Without logic: process entries, lists of exports, and files that declare types and tables only. */
function hasLogic({ code, path }: SourceFile): boolean {
  if (/\/(index|main)\.ts$/.test(path)) return false;
  const values = code
    .replace(/^(export )?(declare )?interface [\s\S]*?^\}/gm, "")
    .replace(/^(export )?type [\s\S]*?;$/gm, "");
  return /\bfunction\b|\bclass\b|=>/.test(values);
}

function isMirrored(path: string): boolean {
  const test = path.replace("/src/", "/test/").replace(/\.ts$/, "");
  return [".test.ts", ".prop.test.ts", "-contract.ts"].some((suffix) => exists(test + suffix));
}

describe("source files", () => {
  it("have a test at the mirrored path if they have logic", () => {
    const missing = sourceFiles()
      .filter(hasLogic)
      .map(({ path }) => path)
      .filter(
        (path) => !isMirrored(path) && !heldElsewhere.some(([file]) => path.startsWith(file)),
      );

    expect(missing).toEqual([]);
  });

  it("are held elsewhere by tests that exist", () => {
    const absent = heldElsewhere.map(([, test]) => test).filter((test) => !exists(test));

    expect(absent).toEqual([]);
  });

  it("stand among those held elsewhere only while they have no test of their own", () => {
    const unmirrored = sourceFiles()
      .map(({ path }) => path)
      .filter((path) => !isMirrored(path));

    const idle = heldElsewhere
      .map(([file]) => file)
      .filter((file) => !unmirrored.some((path) => path.startsWith(file)));

    expect(idle).toEqual([]);
  });
});
