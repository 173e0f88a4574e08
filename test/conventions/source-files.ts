import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const repositoryRoot: string = fileURLToPath(new URL("../..", import.meta.url));

/** A file of ours, by its path from the repository's folder. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  /** Without comments, and with texts emptied. */
  readonly code: string;
}

/** Every TypeScript file of every package's `src`. */
export function sourceFiles(): readonly SourceFile[] {
  const packages = join(repositoryRoot, "packages");
  return readdirSync(packages)
    .flatMap((name) => filesUnder(join(packages, name, "src")))
    .filter((path) => path.endsWith(".ts"))
    .map((path) => {
      const text = readFileSync(path, "utf8");
      return { path: relative(repositoryRoot, path), text, code: withoutComments(text) };
    });
}

/** The text of a file of the repository. */
export function readText(path: string): string {
  return readFileSync(join(repositoryRoot, path), "utf8");
}

/** Whether a path of the repository exists. */
export function exists(path: string): boolean {
  return statSync(join(repositoryRoot, path), { throwIfNoEntry: false }) !== undefined;
}

function filesUnder(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}

function withoutComments(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|[^:"'`\\])\/\/.*$/gm, "$1")
    .replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
}
