import { bench, describe } from "vitest";
import { type ReplayOptions, readTraceFile, replay } from "../src/index.ts";
import { dynamoTrace, optionsOf } from "../test/support/builders.ts";

const rows = readTraceFile(dynamoTrace("mooncake_trace_1000.jsonl.gz"), 512);
const trace = { name: "mooncake_trace_1000", rows };
const settings = { iterations: 3, warmupIterations: 1, time: 0, warmupTime: 0 };

const shapes: Readonly<Record<string, ReplayOptions["shape"]>> = {
  "8 aggregated workers": { kind: "aggregated", workers: 8 },
  "4 prefill and 4 decode workers": { kind: "disaggregated", prefill: 4, decode: 4 },
};

describe("one iteration = 1,000 requests with 200,000 output tokens, three times: the policy, the baseline, the bound", () => {
  for (const [name, shape] of Object.entries(shapes)) {
    const options = optionsOf({ policy: "kv", shape, blocks: 1_845 });
    bench(name, () => void replay(trace, options), settings);
  }
});
