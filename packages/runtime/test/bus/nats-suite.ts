import { describe } from "vitest";
import { hasNatsServer, natsInstallCommand } from "../../src/nats-server.ts";

/** A suite that needs a `nats-server`; without one it is skipped and its title says how to get one. */
export function natsSuite(name: string, define: () => void): void {
  const isThere = hasNatsServer();
  const title = isThere ? name : `${name} (no nats-server: ${natsInstallCommand})`;
  describe.skipIf(!isThere)(title, define);
}
