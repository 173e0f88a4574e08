import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Memory of one process after a garbage collection, bytes. */
export interface ProcessMemory {
  /** JavaScript objects. */
  readonly heapUsed: number;
  /** What the engine keeps for them: room for young ones too, up to 48 MB, which it gives back late or never. */
  readonly heapTotal: number;
  /** Memory of buffers. */
  readonly external: number;
  readonly rss: number;
}

/** What one process holds after a garbage collection. */
export interface HeldByProcess extends ProcessMemory {
  readonly timers: number;
  readonly descriptors: number;
}

const module = fileURLToPath(new URL("./probe.mjs", import.meta.url));

/** Asks processes that were started with its environment what they hold. */
export class ProcessProbe {
  readonly #folder = mkdtempSync(join(tmpdir(), "baton-probe-"));

  /** What a process needs in its environment. */
  get env(): Readonly<Record<string, string>> {
    const url = pathToFileURL(module);
    url.searchParams.set("folder", this.#folder);
    return { NODE_OPTIONS: `--import ${url.href}` };
  }

  /** Collects garbage in a process and says what is left. */
  async held(pid: number): Promise<HeldByProcess> {
    const answer = await this.#ask(pid, "held");
    const descriptors = readdirSync(`/proc/${pid}/fd`).length;
    return { ...(JSON.parse(answer) as Omit<HeldByProcess, "descriptors">), descriptors };
  }

  /** The same without the counts, for which a process stands still for about a second: those that watch it would miss it. */
  async memory(pid: number): Promise<ProcessMemory> {
    return JSON.parse(await this.#ask(pid, "heap")) as ProcessMemory;
  }

  /** Writes a heap snapshot of a process. Resolves with the file. */
  snapshot(pid: number): Promise<string> {
    return this.#ask(pid, "snapshot");
  }

  /** Removes what it needed on disk, snapshots too. */
  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #ask(pid: number, what: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(join(this.#folder, `${pid}.sock`), () => socket.write(what));
      let text = "";
      socket.setEncoding("utf8");
      socket.on("data", (part: string) => {
        text += part;
      });
      socket.once("error", reject);
      socket.once("close", () => resolve(text));
    });
  }
}

/** Resident bytes of any process of this machine. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes ?? 0) * 1_024;
}
