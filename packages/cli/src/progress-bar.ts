import type { CommandIo } from "./command-io.ts";

const width = 30;
const clearLine = "\r\u001b[2K";

/** Shows how far a long command is, in one line on standard error. */
export interface ProgressBar {
  /** `share` is 0 to 1. Draws only what looks different. */
  readonly show: (share: number) => void;
  readonly clear: () => void;
}

/** A bar where people look at standard error; where they do not, nothing is written. */
export function progressBar(io: Pick<CommandIo, "err" | "isTerminal">): ProgressBar {
  let shown = "";
  return {
    show: (share) => {
      if (io.isTerminal !== true) return;
      const full = Math.floor(Math.min(1, Math.max(0, share)) * width);
      const percent = Math.floor(share * 100);
      const text = `${"█".repeat(full)}${"░".repeat(width - full)} ${percent} %`;
      if (text === shown) return;
      shown = text;
      io.err(`${clearLine}${text}`);
    },
    clear: () => {
      if (shown !== "") io.err(clearLine);
      shown = "";
    },
  };
}
