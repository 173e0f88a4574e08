/** A process that starts an engine's child, says its id, and waits to be killed. */

import { stdout } from "node:process";
import { startEngineChild } from "../../../src/engines/llama/child-process.ts";

const child = startEngineChild({}, { onMessage() {}, onExit() {}, onLine() {} });
stdout.write(`${child.pid}\n`);
