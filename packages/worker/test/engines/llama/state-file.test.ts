import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  cutStateFile,
  readStateLayout,
  writeStateFile,
} from "../../../src/engines/llama/state-file.ts";
import { StateImage } from "../../../src/engines/llama/state-image.ts";
import { StateFormatError } from "../../../src/engines/llama/state-layout.ts";
import { smallState, writeSyntheticState } from "./synthetic-state.ts";

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-state-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Over a slice, so that cutting and joining take several reads and writes. */
const large = { ...smallState, keyRowBytes: 40_000, valueRowBytes: 20_000 };

describe("state files", () => {
  it("cuts a file of several slices and writes the same bytes again", async () => {
    const bytes = writeSyntheticState({ ...large, streamCount: 1, streamIndex: 0 });
    expect(bytes.length).toBeGreaterThan(4 << 20);
    const path = join(folder, "large");
    await writeFile(path, bytes);
    const { layout, pieces } = await cutStateFile(path, 16, 0);
    const image = new StateImage(layout.shape, 16, layout.tokens, pieces, 1);
    const copy = join(folder, "copy");
    await writeStateFile(copy, image);
    expect(Buffer.compare(await readFile(copy), bytes)).toBe(0);
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
  });

  it("cuts a small file the same way", async () => {
    const path = join(folder, "small");
    const bytes = writeSyntheticState({ ...smallState, streamCount: 1, streamIndex: 0 });
    await writeFile(path, bytes);
    const { layout, pieces } = await cutStateFile(path, 16, 0);
    const image = new StateImage(layout.shape, 16, layout.tokens, pieces, 1);
    const copy = new Uint8Array(image.fileBytes);
    image.fill(0, copy);
    expect(copy).toEqual(bytes);
    expect((await cutStateFile(path, 16, 16)).pieces).toEqual(pieces.slice(1));
  });

  it("leaves out the blocks that are not wanted", async () => {
    const path = join(folder, "suffix");
    await writeFile(path, writeSyntheticState(large));
    const all = await cutStateFile(path, 16, 0);
    const rest = await cutStateFile(path, 16, 32);
    expect(rest.pieces).toEqual(all.pieces.slice(2));
  });

  it("does not overwrite a file", async () => {
    const path = join(folder, "taken");
    await writeFile(path, writeSyntheticState(smallState));
    const { layout, pieces } = await cutStateFile(path, 16, 0);
    const image = new StateImage(layout.shape, 16, layout.tokens, pieces, 1);
    await expect(writeStateFile(path, image)).rejects.toThrow(/EEXIST/);
  });

  it("refuses a truncated file by field", async () => {
    const path = join(folder, "short");
    await writeFile(path, writeSyntheticState(smallState).subarray(0, 500));
    await expect(readStateLayout(path)).rejects.toThrow(StateFormatError);
  });
});
