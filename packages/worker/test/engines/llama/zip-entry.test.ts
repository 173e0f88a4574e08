import { createWriteStream } from "node:fs";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readZipEntries, unpackZipEntry } from "../../../src/engines/llama/zip-entry.ts";
import { writeZip } from "./synthetic-zip.ts";

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-zip-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe("zip entries", () => {
  it("unpacks a deflated and a stored entry", async () => {
    const body = Buffer.from("some words ".repeat(50_000));
    const path = join(folder, "two.zip");
    const entries = [
      { name: "a/deflated.txt", body },
      { name: "stored.txt", body: Buffer.from("as it is"), stored: true },
    ];
    await writeFile(path, writeZip(entries));
    const file = await open(path, "r");
    const found = await readZipEntries(file);
    expect(found.map((entry) => [entry.name, entry.bytes])).toEqual([
      ["a/deflated.txt", body.length],
      ["stored.txt", 8],
    ]);
    for (const [index, entry] of found.entries()) {
      const out = join(folder, `out-${index}`);
      await unpackZipEntry(file, entry, createWriteStream(out));
      expect(Buffer.compare(await readFile(out), entries[index]!.body)).toBe(0);
    }
    await file.close();
  });

  it("refuses what is no zip", async () => {
    const path = join(folder, "none.zip");
    await writeFile(path, Buffer.alloc(100, 7));
    const file = await open(path, "r");
    await expect(readZipEntries(file)).rejects.toThrow("not a zip file");
    await file.close();
  });
});
