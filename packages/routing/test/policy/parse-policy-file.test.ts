import { describe, expect, it } from "vitest";
import { parsePolicyFile } from "../../src/index.ts";
import { problemsOf } from "../support/policy-sources.ts";

const parse = (text: string) => parsePolicyFile(text, "policy.yaml");
const problems = (text: string) => problemsOf(() => parse(text));

describe("a good policy file", () => {
  it("is read key by key, and says where each is", () => {
    const file = parse(`
router:
  use_kv_events: false
worker_selection:
  prefill: mine
  instances:
    - name: mine
      type: dynamo-default-cost-fn
      parameters:
        router_temperature: 0.5
`);

    expect(file.content).toMatchObject({
      router: { use_kv_events: false },
      worker_selection: {
        prefill: "mine",
        instances: [{ parameters: { router_temperature: 0.5 } }],
      },
    });
    expect(file.where(["router", "use_kv_events"])).toBe("policy.yaml:3: router.use_kv_events");
  });

  it("may unset thresholds and TTLs, also by Dynamo's word for that", () => {
    expect(
      parse(`
busy_thresholds: {active_decode_blocks_threshold: None, active_prefill_tokens_threshold: null}
session_affinity: {ttl_secs: ~}
router: {router_predicted_ttl_secs: null}
`).content,
    ).toEqual({
      busy_thresholds: {
        active_decode_blocks_threshold: null,
        active_prefill_tokens_threshold: null,
      },
      session_affinity: { ttl_secs: null },
      router: { router_predicted_ttl_secs: null },
    });
  });
});

describe("a bad policy file", () => {
  it.each(["", "# only words\n", "{}\n", "---\n"])("is refused when it is empty: %j", (text) => {
    expect(problems(text)).toEqual(["policy.yaml: the policy file is empty"]);
  });

  it.each([
    ["- a\n", "policy.yaml: "],
    ["router:\n  use_kv_events: maybe\n", "policy.yaml:2: router.use_kv_events: "],
    ["router:\n\n  host_cache_hit_weight: 1.5\n", "policy.yaml:3: router.host_cache_hit_weight: "],
    ["router:\n  router_ttl_secs: 0\n", "policy.yaml:2: router.router_ttl_secs: "],
    ["session_affinity:\n  ttl_secs: 31536001\n", "policy.yaml:2: session_affinity.ttl_secs: "],
    ["session_affinity:\n  mode: firm\n", "policy.yaml:2: session_affinity.mode: "],
    [
      "busy_thresholds:\n  active_decode_blocks_threshold: 2\n",
      "policy.yaml:2: busy_thresholds.active_decode_blocks_threshold: ",
    ],
    ["router:\n  a: 1\n  a: 2\n", "policy.yaml:3: "],
  ])("%j is refused with key and line", (text, start) => {
    expect(problems(text)).toEqual([expect.stringMatching(new RegExp(`^${start}`))]);
  });

  it("is refused for an unknown key, with those that there are", () => {
    expect(problems("router:\n  use_kv_event: true\n")).toEqual([
      expect.stringMatching(/^policy\.yaml:2: router\.use_kv_event: unknown key: .*use_kv_events/),
    ]);
    expect(
      problems("worker_selection: {instances: [{name: a, type: kv, parameters: {x: 1}}]}"),
    ).toEqual([expect.stringMatching(/unknown key: there are overlap_score_credit/)]);
    expect(
      problems("worker_selection: {instances: [{name: a, type: random, parameters: {x: 1}}]}"),
    ).toEqual([expect.stringMatching(/unknown key: there are none$/)]);
  });

  it("is refused by name for what is not built and for what has no place here", () => {
    const found = problems("router:\n  serve_indexer: false\npolicy_classes: []\n");

    expect(found).toEqual([
      expect.stringMatching(/^policy\.yaml:2: router\.serve_indexer: refused: /),
      expect.stringMatching(/^policy\.yaml:3: policy_classes: refused: .*not built yet$/),
    ]);
  });

  it("is refused for pools that name an instance which is not there", () => {
    const text = `
worker_selection:
  decode: default
  prefill: ghost
  instances:
    - {name: a, type: random}
`;

    expect(problems(text)).toEqual([
      'policy.yaml:4: worker_selection.prefill: there is no instance "ghost": there are default, a',
    ]);
  });

  it("is refused for two instances of one name, and for the reserved one", () => {
    const text = `
worker_selection:
  instances:
    - {name: a, type: random}
    - {name: default, type: random}
    - {name: a, type: kv}
`;

    expect(problems(text)).toEqual([
      expect.stringMatching(/^policy\.yaml:5: worker_selection\.instances\[1\]\.name: .*reserved/),
      expect.stringMatching(/^policy\.yaml:6: worker_selection\.instances\[2\]\.name: .*two/),
    ]);
  });

  it("is refused for a type that there is not, and for a module without one", () => {
    const text = `
worker_selection:
  instances:
    - name: a
      type: best
    - name: b
      type: module
    - {name: c, type: kv, module: ./c.mjs}
`;

    expect(problems(text)).toEqual([
      expect.stringMatching(/^policy\.yaml:5: .*\[0\]\.type: must be one of .*two-tier/),
      expect.stringMatching(/^policy\.yaml:6: .*\[1\]\.module: /),
      expect.stringMatching(/^policy\.yaml:8: .*\[2\]\.module: unknown key/),
    ]);
  });

  it("names everything that is wrong, by line", () => {
    expect(
      problems("zzz: 1\nrouter:\n  x: 1\nbusy_thresholds: 3\n").map((text) => text.slice(0, 13)),
    ).toEqual(["policy.yaml:1", "policy.yaml:3", "policy.yaml:4"]);
  });
});

describe("a policy file that is too much", () => {
  it("is refused for its size before it is read", () => {
    const text = `router: {}\n# ${"é".repeat(40_000)}`;

    expect(problems(text)).toEqual([
      "policy.yaml: the policy file has 80013 bytes, more than 32768",
    ]);
  });

  it("has its first mistakes named, and the others counted", () => {
    const text = Array.from({ length: 100 }, (_, at) => `key${at}: 1`).join("\n");
    const named = problems(text);

    expect(named).toHaveLength(21);
    expect(named[0]).toContain("policy.yaml:1: key0: unknown key");
    expect(named.at(-1)).toBe("and 80 more mistakes");
  });
});
