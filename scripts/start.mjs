// `npm start -- OPTIONS`: sets up a fresh clone, then is `baton up OPTIONS` in this very process, so that signals
// which npm passes on reach it.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, installPackages, requireNode, root } from "./setup.mjs";

requireNode(20);
await installPackages();
await build();
const cli = await import(pathToFileURL(join(root, "packages", "cli", "dist", "index.js")).href);
await cli.main(["up", "--install-engine", ...process.argv.slice(2)]);
