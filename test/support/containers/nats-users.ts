import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { actorRoles } from "@baton/protocol";

/** The users of `infra/nats/nats.conf`. */
export const natsUsers = [...actorRoles, "watcher"] as const;
/** One of them. */
export type NatsUser = (typeof natsUsers)[number];

/** Made-up passwords: for the server's environment, and as files for clients. */
export class NatsLogins {
  readonly #folder = mkdtempSync(join(tmpdir(), "baton-logins-"));

  constructor() {
    for (const user of natsUsers) writeFileSync(this.file(user), this.text(user));
  }

  /** The environment that `nats.conf` reads. */
  get environment(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      natsUsers.map((user) => [
        `BATON_${user.replaceAll("-", "_").toUpperCase()}_PASSWORD`,
        passwordOf(user),
      ]),
    );
  }

  /** The content of a credentials file. */
  text(user: NatsUser): string {
    return JSON.stringify({ user, password: passwordOf(user) });
  }

  /** A credentials file. */
  file(user: NatsUser): string {
    return join(this.#folder, `${user}.json`);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function passwordOf(user: NatsUser): string {
  return `secret-of-${user}`;
}
