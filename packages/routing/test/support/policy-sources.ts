import { ServingError } from "@baton/protocol";
import type { PolicyFlags } from "../../src/index.ts";
import {
  type PolicySources,
  parsePolicyFile,
  type RouterPolicy,
  resolvePolicy,
} from "../../src/index.ts";

/** Files that are texts in memory, and modules that are objects. Writing a file changes its stamp. */
export class FakeSources implements PolicySources {
  readonly modules = new Map<string, unknown>();
  readonly imported: string[] = [];
  reads = 0;
  readonly #files = new Map<string, { readonly text: string; readonly stamp: string }>();
  #writes = 0;

  readonly files = {
    stamp: (path: string) => this.#get(path).then(({ stamp }) => stamp),
    read: (path: string) => {
      this.reads += 1;
      return this.#get(path).then(({ text }) => text);
    },
  };

  readonly importModule = (path: string, version: string): Promise<unknown> => {
    this.imported.push(`${path} ${version}`);
    const module = this.modules.get(path);
    return module === undefined
      ? Promise.reject(new Error(`no module ${path}`))
      : Promise.resolve(module);
  };

  write(path: string, text: string): void {
    this.#writes += 1;
    this.#files.set(path, { text, stamp: `stamp-${this.#writes}` });
  }

  remove(path: string): void {
    this.#files.delete(path);
  }

  #get(path: string): Promise<{ readonly text: string; readonly stamp: string }> {
    const file = this.#files.get(path);
    return file === undefined
      ? Promise.reject(new Error(`no file ${path}`))
      : Promise.resolve(file);
  }
}

/** What flags and the text of a file come to; without a text there is no file. */
export function policyOf(flags: PolicyFlags, text?: string): RouterPolicy {
  const file = text === undefined ? null : parsePolicyFile(text, "/etc/baton/policy.yaml");
  return resolvePolicy(flags, file);
}

/** The problems that `run` throws, one a line. */
export function problemsOf(run: () => unknown): readonly string[] {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ServingError) || error.code !== "config_invalid") throw error;
    return error.details.options as readonly string[];
  }
  return [];
}
