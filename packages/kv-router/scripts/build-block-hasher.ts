// Rebuilds src/hashing/block-hasher-wasm.ts. Run it after a change in assembly/.
import { writeFileSync } from "node:fs";
import { blockHasherWasmSource, compileBlockHasher } from "./compile-block-hasher.ts";

const target = new URL("../src/hashing/block-hasher-wasm.ts", import.meta.url);
writeFileSync(target, blockHasherWasmSource(await compileBlockHasher()));
