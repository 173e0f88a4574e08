import { expect, it } from "vitest";
import { type PolicyFlags, parsePolicyFile } from "../../src/index.ts";
import { flagName, PolicySettings } from "../../src/policy/policy-settings.ts";
import { problemsOf } from "../support/policy-sources.ts";

const settings = (flags: PolicyFlags, text: string) =>
  new PolicySettings(flags, parsePolicyFile(text, "p.yaml"));

it("writes a flag as it is typed", () => {
  expect(flagName("activePrefillTokensThresholdFrac")).toBe(
    "--active-prefill-tokens-threshold-frac",
  );
});

it("says where a setting comes from", () => {
  const both = settings({ ttlSecs: 3 }, "router:\n  use_kv_events: true\n");

  expect(both.where(["router", "use_kv_events"])).toBe("p.yaml:2: router.use_kv_events");
  expect(both.where(["router", "router_ttl_secs"])).toBe("--ttl-secs");
  expect(both.where(["session_affinity", "mode"])).toBe("the default of session_affinity.mode");
});

it("names flag and key where both are given, even if they agree", () => {
  const both = settings(
    { useKvEvents: true, sessionAffinityMode: "soft" },
    "router:\n  use_kv_events: true\nsession_affinity:\n  mode: hard\n",
  );

  expect(problemsOf(() => both.throwProblems())).toEqual([
    expect.stringMatching(/^--use-kv-events .*p\.yaml:2: router\.use_kv_events/),
    expect.stringMatching(/^--session-affinity-mode .*p\.yaml:4: session_affinity\.mode/),
  ]);
});

it("has nothing against flags of what the file is silent about", () => {
  const both = settings({ ttlSecs: 3 }, "router:\n  use_kv_events: false\n");

  expect(problemsOf(() => both.throwProblems())).toEqual([]);
});
