/** For helpers such as npm and pip, which would go on for seconds after whoever started them. */

import type { ChildProcess } from "node:child_process";
import type { EventEmitter } from "node:events";
import thisProcess from "node:process";

/** Kills a child that still runs when this process exits. */
export function killAtExit(
  child: Pick<ChildProcess, "kill" | "once">,
  parent: Pick<EventEmitter, "once" | "off"> = thisProcess,
): void {
  const kill = (): void => {
    child.kill("SIGKILL");
  };
  parent.once("exit", kill);
  const forget = (): void => {
    parent.off("exit", kill);
  };
  child.once("exit", forget);
  child.once("error", forget);
}
