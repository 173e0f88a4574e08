import { readFile, stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import type { PolicySources } from "./load-policy.ts";

/** How a policy file is looked at. In a simulation a map of texts. */
export interface PolicyFiles {
  /** A text that changes whenever the file does. Rejects if there is no file. */
  stamp(path: string): Promise<string>;
  read(path: string): Promise<string>;
}

/** The machine's own files and modules. */
export const diskSources: PolicySources = {
  files: {
    stamp: async (path) => {
      const { mtimeMs, size, ino } = await stat(path);
      return `${mtimeMs}-${size}-${ino}`;
    },
    read: (path) => readFile(path, "utf8"),
  },
  importModule: (path, version) => {
    const url = pathToFileURL(path);
    url.searchParams.set("v", version);
    return import(url.href);
  },
};
