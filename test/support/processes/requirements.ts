import { spawnSync } from "node:child_process";
import { natsAvailable } from "@baton/testing";
import { findLlamaEngine } from "@baton/worker";
import { describe, it, vi } from "vitest";
import { hasDocker } from "../containers/images.ts";
import { hasPythonClients } from "./python-clients.ts";

/** What a suite may need that a machine may lack. */
export type Need = "nats" | "llama" | "docker" | "openssl" | "python-clients";

interface Requirement {
  readonly isThere: boolean;
  readonly lacking: string;
  readonly command: string;
}

const requirements: Readonly<Record<Need, Requirement>> = {
  nats: {
    isThere: natsAvailable(),
    lacking: "no nats-server",
    command: "apt-get install nats-server",
  },
  docker: {
    isThere: hasDocker(),
    lacking: "no Docker engine with our images",
    command: "infra/start-docker.sh && infra/base-image.sh (as root)",
  },
  openssl: {
    isThere: spawnSync("openssl", ["version"], { stdio: "ignore" }).status === 0,
    lacking: "no openssl",
    command: "apt-get install openssl",
  },
  "python-clients": {
    isThere: hasPythonClients(),
    lacking: "no Python clients",
    command: "test/e2e/clients/python/install.sh",
  },
  llama: {
    isThere: (await findLlamaEngine()) !== undefined,
    lacking: "no llama engine",
    command: "npx baton engine install llama",
  },
};

const required = new Set((process.env.BATON_TEST_REQUIRE ?? "").split(",").map((s) => s.trim()));

/** For tests and hooks: starting a dozen processes on a busy machine takes its time. */
const timeoutMs = 60_000;

/**
 * A suite that needs something of the machine. Where it is missing the suite is skipped and its title says which
 * command helps; or it fails, if `BATON_TEST_REQUIRE` (as `nats,llama`) lists what is missing.
 */
export function describeWith(needs: readonly Need[], title: string, suite: () => void): void {
  const missing = needs.filter((need) => !requirements[need].isThere);
  if (missing.length === 0) {
    vi.setConfig({ testTimeout: timeoutMs, hookTimeout: timeoutMs });
    describe(title, suite);
    return;
  }
  const advice = missing
    .map((need) => `${requirements[need].lacking}; run: ${requirements[need].command}`)
    .join("; ");
  if (!missing.some((need) => required.has(need))) {
    describe.skipIf(true)(`${title} (skipped: ${advice})`, suite);
    return;
  }
  describe(title, () => {
    it("finds what it needs on this machine", () => {
      throw new Error(advice);
    });
  });
}
