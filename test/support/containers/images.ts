import { spawnSync } from "node:child_process";

/** What `infra/base-image.sh` makes, and what the suite builds from it. */
export const images = { base: "baton-base:local", nats: "baton-nats:local", actor: "baton:test" };

/** Whether a Docker engine answers and has what `infra/base-image.sh` makes. */
export function hasDocker(): boolean {
  const { status } = spawnSync("docker", ["image", "inspect", images.base, images.nats], {
    stdio: "ignore",
    timeout: 10_000,
  });
  return status === 0;
}
