// Loaded into an actor's process by `NODE_OPTIONS=--import`: tells what the process holds after a garbage collection to
// whoever connects to FOLDER/PID.sock, FOLDER being this module's query.
import { createServer } from "node:net";
import { join } from "node:path";
import { queryObjects, setFlagsFromString, writeHeapSnapshot } from "node:v8";
import { runInNewContext } from "node:vm";

const folder = new URL(import.meta.url).searchParams.get("folder") ?? "";
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const timer = setTimeout(() => undefined, 0);
const Timer = timer.constructor;
clearTimeout(timer);

const server = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.once("data", (asked) => {
    if (String(asked).startsWith("snapshot")) {
      socket.end(writeHeapSnapshot(join(folder, `${process.pid}.heapsnapshot`)));
      return;
    }
    const isHeapOnly = String(asked).startsWith("heap");
    // What a finalizer lets go of needs a turn of the loop and a second collection.
    collect();
    setImmediate(() => {
      collect();
      socket.end(JSON.stringify(isHeapOnly ? heap() : held()));
    });
  });
});
server.listen(join(folder, `${process.pid}.sock`));
server.unref();

function heap() {
  const { heapUsed, heapTotal, external, rss } = process.memoryUsage();
  return { heapUsed, heapTotal, external, rss };
}

function held() {
  return { ...heap(), timers: queryObjects(Timer, { format: "count" }) };
}
