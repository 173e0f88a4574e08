import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const requirements = fileURLToPath(
  new URL("../../e2e/clients/python/requirements.txt", import.meta.url),
);
const { HOME = homedir(), XDG_CACHE_HOME = join(HOME, ".cache") } = process.env;
const folder = join(XDG_CACHE_HOME, "baton", "python-clients");

/** The Python that has the clients of `test/e2e/clients/python`. */
export const clientPython: string = join(folder, "bin", "python");

/** Whether those clients are installed, in the versions that are written down. */
export function hasPythonClients(): boolean {
  try {
    const wanted = readFileSync(requirements, "utf8");
    // The installation puts it there when all else is.
    return readFileSync(join(folder, "requirements.txt"), "utf8") === wanted;
  } catch {
    return false; // never installed
  }
}
