// `npm run docs:generate`: writes the generated pages; with `--check` it only says which are not current.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { asyncApiDocument } from "./docs/asyncapi.ts";
import { configurationPage } from "./docs/configuration-page.ts";
import { errorsPage } from "./docs/errors-page.ts";
import { machinePages } from "./docs/machine-pages.ts";
import { natsPermissions } from "./docs/nats-permissions.ts";
import { policySchema } from "./docs/policy-schema.ts";
import { protocolPage } from "./docs/protocol-page.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const pages: Readonly<Record<string, string>> = {
  "docs/protocol.md": await protocolPage(root),
  "docs/asyncapi.json": asyncApiDocument(),
  "docs/errors.md": errorsPage(),
  "docs/configuration.md": await configurationPage(),
  "docs/policy.schema.json": policySchema(),
  ...machinePages(),
  "infra/nats/permissions.conf": natsPermissions(),
};

const stale: string[] = [];
for (const [file, text] of Object.entries(pages)) {
  const path = join(root, file);
  const current = await readFile(path, "utf8").catch(() => null);
  if (current === text) continue;
  stale.push(file);
  if (process.argv.includes("--check")) continue;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
if (process.argv.includes("--check") && stale.length > 0) {
  console.error(`not current: ${stale.join(", ")}\nrun: npm run docs:generate`);
  process.exit(1);
}
