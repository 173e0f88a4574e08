/** The folder through which states pass between a worker and its engine's child. Holds prompts' KV: private. */

import { mkdir, readdir, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Random } from "@baton/runtime";

const prefix = "baton-llama-";
const memoryFolder = "/dev/shm";

/** A private folder of one engine. */
export class StateDir {
  readonly path: string;
  readonly #random: Random;

  private constructor(path: string, random: Random) {
    this.path = path;
    this.#random = random;
  }

  /**
   * Makes an empty folder of mode 0700 below `base`, by default in memory if there are `neededBytes` free, and
   * removes those that dead processes left there.
   */
  static async create(
    random: Random,
    neededBytes: number,
    base: string | undefined,
  ): Promise<StateDir> {
    const parent = base ?? (await chooseBase(neededBytes));
    await removeLeftovers(parent);
    for (;;) {
      const path = join(parent, random.id(`${prefix}${process.pid}`));
      if (await makeFolder(path)) return new StateDir(path, random);
    }
  }

  /** A file name that nobody can guess and that is not taken. */
  newFile(): string {
    return join(this.path, this.#random.id("state"));
  }

  /** Deletes a file that has been read; one that was never written is fine. */
  async discard(path: string): Promise<void> {
    await rm(path, { force: true });
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Makes a folder that is not there yet. Returns false if it is: engines may draw from equal seeds. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function chooseBase(neededBytes: number): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(memoryFolder);
    if (bavail * bsize >= neededBytes) return memoryFolder;
  } catch {
    // Not every system has one; plain files cost milliseconds more.
  }
  return tmpdir();
}

async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1]);
    if (Number.isInteger(pid) && !isAlive(pid)) {
      await rm(join(parent, name), { recursive: true, force: true });
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
