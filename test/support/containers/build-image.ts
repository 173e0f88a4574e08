import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { hasDocker, images } from "./images.ts";

const script = fileURLToPath(new URL("../../../infra/build-image.mjs", import.meta.url));
const timeoutMs = 300_000;

/** Builds the image of every actor from this checkout, once before the suite. Resolves with what removes it again. */
export function setup(): (() => void) | undefined {
  if (!hasDocker()) return undefined;
  const args = [script, "--base", images.base, "--tag", images.actor];
  const { status, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: timeoutMs,
  });
  if (status !== 0) throw new Error(`the image could not be built:\n${stderr}`);
  return () => {
    spawnSync("docker", ["rmi", images.actor], { stdio: "ignore", timeout: timeoutMs });
  };
}
