import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RealClock, SeededRandom } from "@baton/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CommandIo } from "../../src/command-io.ts";
import { main } from "../../src/main.ts";

const dataFolder = "../../../../test/data/dynamo/";
const tiny = fileURLToPath(new URL(`${dataFolder}mooncake_replay_tiny.jsonl`, import.meta.url));

/** Runs `baton replay` with these arguments. */
async function baton(args: readonly string[], io: Partial<CommandIo> = {}) {
  let [out, err, code] = ["", "", -1];
  await main(["replay", ...args], {
    env: {},
    clock: new RealClock(),
    random: new SeededRandom(1),
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    exit: (exitCode) => {
      code = exitCode;
    },
    onSignal: () => () => undefined,
    ...io,
  });
  return { out, err, code };
}

describe("baton replay", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "baton-replay-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("prints a summary, and writes JSON and a page", async () => {
    const [json, html] = [join(folder, "r.json"), join(folder, "r.html")];
    const flags = ["--prefill", "2", "--decode", "1", "--blocks", "256", "--speed", "2"];

    const { out, err, code } = await baton([tiny, ...flags, "--json", json, "--html", html]);

    const report = JSON.parse(readFileSync(json, "utf8"));
    expect([err, code]).toEqual(["", 0]);
    expect(report).toMatchObject({
      trace: "mooncake_replay_tiny.jsonl",
      policy: "kv",
      workers: { prefill: 2, decode: 1 },
      blocks: 256,
      speed: 2,
      requests: 16,
    });
    expect(out).toContain(report.digest);
    expect(readFileSync(html, "utf8")).toContain(report.digest);
  });

  it("prints nothing but JSON where that goes to standard output", async () => {
    const { out } = await baton([tiny, "--limit", "3", "--json", "-"]);

    expect(JSON.parse(out)).toMatchObject({ requests: 3, workers: { aggregated: 8 } });
  });

  it("gives the policy its parameters", async () => {
    const flags = [
      "--parameter",
      "overlap_score_credit=2",
      "--parameter",
      "router_temperature=0.5",
    ];

    const { out } = await baton([tiny, ...flags, "--json", "-"]);

    expect(JSON.parse(out).parameters).toEqual({
      overlap_score_credit: 2,
      router_temperature: 0.5,
    });
  });

  it("routes by a policy file", async () => {
    const file = join(folder, "policy.yaml");
    writeFileSync(
      file,
      `worker_selection:
  aggregated: spread
  instances:
    - { name: spread, type: kv, parameters: { router_temperature: 2 } }
`,
    );
    const same = ["--parameter", "router_temperature=2"];

    const [own, given] = [
      await baton([tiny, "--policy-file", file, "--json", "-"]),
      await baton([tiny, ...same, "--json", "-"]),
    ];

    expect(own.err).toBe("");
    expect(JSON.parse(own.out)).toMatchObject({
      policy: "policy.yaml",
      digest: JSON.parse(given.out).digest,
    });
  });

  it("takes options from the environment too", async () => {
    const env = { BATON_REPLAY_POLICY: "round-robin", BATON_REPLAY_WORKERS: "3" };

    const { out } = await baton([tiny, "--json", "-"], { env });

    expect(JSON.parse(out)).toMatchObject({ policy: "round-robin", workers: { aggregated: 3 } });
  });

  it("draws a bar on a terminal and takes it away again", async () => {
    const { err } = await baton([tiny], { isTerminal: true });

    expect(err).toContain("100 %");
    expect(err.endsWith("\r\u001b[2K")).toBe(true);
  });

  it.each([
    ["a file that is not there", ["no-such-file"], /cannot read no-such-file/],
    ["a policy that needs a pin", [tiny, "--policy", "direct"], /--policy/],
    ["half a pool", [tiny, "--prefill", "2"], /--prefill and --decode go together/],
    ["both pools", [tiny, "--prefill", "1", "--decode", "1", "--workers", "2"], /--workers goes/],
    ["no workers", [tiny, "--workers", "0"], /--workers/],
    ["a parameter that is no number", [tiny, "--parameter", "a=b"], /"a=b" is not NAME=VALUE/],
    ["an unknown parameter", [tiny, "--parameter", "a=1"], /no parameter "a"/],
    ["a policy file that is not there", [tiny, "--policy-file", "none"], /none: the policy file/],
    [
      "parameters beside a policy file",
      [tiny, "--policy-file", "none", "--parameter", "router_temperature=1"],
      /--parameter goes without/,
    ],
    ["ids of another length", [tiny, "--trace-block-size", "64"], /line 1: hash_ids has 14 ids/],
    ["a page that cannot be written", [tiny, "--html", "no/such/folder/x"], /--html: cannot write/],
    ["no trace", [], /missing required argument/],
  ])("refuses %s with what is wrong", async (_, args, problem) => {
    const { out, err, code } = await baton(args);

    expect(err).toMatch(problem);
    expect([out, code]).toEqual(["", 2]);
  });
});
