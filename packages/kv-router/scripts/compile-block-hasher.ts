import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";

const packageFolder = fileURLToPath(new URL("..", import.meta.url));

// The stub runtime has no allocator and no collector: the sources use neither.
const flags = ["-O3", "--noAssert", "--runtime", "stub", "--enable", "simd"];

/** Compiles `assembly/block-hasher.ts`. The same sources and compiler give the same bytes. */
export async function compileBlockHasher(): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    ["assembly/block-hasher.ts", "--baseDir", packageFolder, "--outFile", "out.wasm", ...flags],
    {
      writeFile: (_name, contents) => {
        if (typeof contents !== "string") bytes = contents;
      },
    },
  );
  if (error !== null || bytes === undefined) {
    throw new Error(`the block hasher does not compile: ${stderr.toString()}`, { cause: error });
  }
  return bytes;
}

/** The source of the module that carries the bytes. */
export function blockHasherWasmSource(bytes: Uint8Array): string {
  return `// Written by scripts/build-block-hasher.ts from assembly/. Do not edit.

/** The WebAssembly module behind a block hasher, in base 64. */
export const blockHasherWasmBase64: string =
  "${Buffer.from(bytes).toString("base64")}";
`;
}
