// Loaded into every process of a cluster that is measured (`--import`). In the Frontend's it writes what the process has used
// to a file (`?file=…`) each time it is asked by a signal, and begins to watch the loop anew.
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const path = new URL(import.meta.url).searchParams.get("file");
if (process.argv.includes("frontend") && path !== null) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let asked = 0;
  process.on("SIGUSR2", () => {
    asked += 1;
    const { user, system } = process.cpuUsage();
    const usage = {
      asked,
      cpuMs: (user + system) / 1000,
      delayP99Ms: delay.percentile(99) / 1e6,
      delayMaxMs: delay.max / 1e6,
    };
    delay.reset();
    writeFileSync(path, JSON.stringify(usage));
  });
}
