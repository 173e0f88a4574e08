import { execFileSync } from "node:child_process";

/** One process of this machine. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Every process that lives; those that have ended and wait for their parent are left out. */
export function processTable(): readonly ProcessEntry[] {
  const text = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat=,args="], { encoding: "utf8" });
  return text.split("\n").flatMap((line) => {
    const [, pid, parent, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (command === undefined || state?.startsWith("Z")) return [];
    return [{ pid: Number(pid), parent: Number(parent), command }];
  });
}

/** All processes below one, at any depth. */
export function descendantsOf(pid: number): readonly ProcessEntry[] {
  const table = processTable();
  const found: ProcessEntry[] = [];
  let parents = new Set([pid]);
  while (parents.size > 0) {
    const children = table.filter(({ parent }) => parents.has(parent));
    found.push(...children);
    parents = new Set(children.map((child) => child.pid));
  }
  return found;
}

/** Whether a process lives. */
export function isAlive(pid: number): boolean {
  return processTable().some((entry) => entry.pid === pid);
}
