import type { ServingError } from "@baton/protocol";
import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import {
  type LoadedPolicy,
  loadPolicy,
  type PolicyFlags,
  watchPolicyFile,
} from "../../src/index.ts";
import { FakeSources } from "../support/policy-sources.ts";

const path = "/etc/baton/policy.yaml";
const ttl = (secs: number) => `session_affinity: {ttl_secs: ${secs}}\n`;

async function watching(more: PolicyFlags = {}, first = ttl(1)) {
  const flags = { ...more, policyFile: path };
  const sources = new FakeSources();
  const clock = new VirtualClock();
  sources.write(path, first);
  const policies: LoadedPolicy[] = [];
  const errors: ServingError[] = [];
  const watch = watchPolicyFile({
    files: sources.files,
    importModule: sources.importModule,
    clock,
    flags,
    current: await loadPolicy(flags, sources),
    onPolicy: (loaded) => policies.push(loaded),
    onError: (error) => errors.push(error),
  });
  const ttls = () => policies.map(({ policy }) => policy.stages.decode.affinity?.ttlMs);
  return { sources, clock, watch, errors, ttls };
}

function slowly(sources: FakeSources, clock: VirtualClock, ms: number): void {
  const { read } = sources.files;
  sources.files.read = async (file) => {
    await clock.sleep(ms);
    return read(file);
  };
}

describe("a policy file that is watched", () => {
  it("is not read again while it stays the same", async () => {
    const { sources, clock, ttls } = await watching();
    await clock.advanceBy(10_000);

    expect(sources.reads).toBe(1);
    expect(ttls()).toEqual([]);
  });

  it("is taken over within a second of its change", async () => {
    const { sources, clock, ttls } = await watching();
    sources.write(path, ttl(2));
    await clock.advanceBy(1_000);
    sources.write(path, ttl(3));
    await clock.advanceBy(1_000);

    expect(ttls()).toEqual([2_000, 3_000]);
  });

  it("keeps the old policy when it turns bad, with one error that names key and line", async () => {
    const { sources, clock, errors, ttls } = await watching();
    sources.write(path, "session_affinity:\n  ttl_secs: -1\n");
    await clock.advanceBy(5_000);

    expect(ttls()).toEqual([]);
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ["config_invalid", expect.stringContaining(`${path}:2: session_affinity.ttl_secs: `)],
    ]);
  });

  it("is taken over when it is good again", async () => {
    const { sources, clock, errors, ttls } = await watching();
    sources.write(path, "nonsense: 1\n");
    await clock.advanceBy(1_000);
    sources.write(path, ttl(4));
    await clock.advanceBy(1_000);

    expect(errors).toHaveLength(1);
    expect(ttls()).toEqual([4_000]);
  });

  it("may go and come back: one error, then the policy", async () => {
    const { sources, clock, errors, ttls } = await watching();
    sources.remove(path);
    await clock.advanceBy(5_000);
    sources.write(path, ttl(5));
    await clock.advanceBy(1_000);

    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining("cannot be read"),
    ]);
    expect(ttls()).toEqual([5_000]);
  });

  it("contradicts a flag: that is an error like any other", async () => {
    const { sources, clock, errors } = await watching({ sessionAffinityMode: "soft" });
    sources.write(path, "session_affinity: {mode: hard}\n");
    await clock.advanceBy(1_000);

    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining("--session-affinity-mode"),
    ]);
  });

  it("is let alone when the watch is stopped, also while it is being read", async () => {
    const { sources, clock, watch, errors, ttls } = await watching();
    slowly(sources, clock, 500);
    sources.write(path, ttl(6));
    clock.setTimer(1_200, () => watch.stop());
    await clock.advanceBy(3_000);

    expect([...ttls(), ...errors]).toEqual([]);
    expect(sources.reads).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it("is not read twice at a time by a slow disk", async () => {
    const { sources, clock, ttls } = await watching();
    slowly(sources, clock, 3_500);
    sources.write(path, ttl(7));
    await clock.advanceBy(6_000);

    expect(ttls()).toEqual([7_000]);
    expect(sources.reads).toBe(2);
  });
});
