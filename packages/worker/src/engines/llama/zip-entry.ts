/** Reads one stored or deflated entry of a zip file, without unpacking the rest. */

import type { FileHandle } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createInflateRaw } from "node:zlib";

export interface ZipEntry {
  readonly name: string;
  /** 0 stored, 8 deflated. */
  readonly method: number;
  readonly packedBytes: number;
  readonly bytes: number;
  readonly headerPosition: number;
}

const endBytes = 22;
const maxCommentBytes = 0xffff;
const centralHeaderBytes = 46;
const localHeaderBytes = 30;
const zip64Marker = 0xffffffff;

/** The entries of the zip's directory. Throws if the file is no zip, or a zip64. */
export async function readZipEntries(file: FileHandle): Promise<ZipEntry[]> {
  const { size } = await file.stat();
  const tail = await read(file, Math.max(0, size - endBytes - maxCommentBytes), size);
  let at = tail.length - endBytes;
  while (at >= 0 && tail.readUInt32LE(at) !== 0x06054b50) at -= 1;
  if (at < 0) throw new Error("not a zip file");
  const position = tail.readUInt32LE(at + 16);
  if (position === zip64Marker) throw new Error("zip64 files are not read");
  const directory = await read(file, position, position + tail.readUInt32LE(at + 12));
  const entries: ZipEntry[] = [];
  for (let next = 0; next + centralHeaderBytes <= directory.length; ) {
    if (directory.readUInt32LE(next) !== 0x02014b50) throw new Error("broken zip directory");
    const nameBytes = directory.readUInt16LE(next + 28);
    const nameAt = next + centralHeaderBytes;
    entries.push({
      name: directory.toString("utf8", nameAt, nameAt + nameBytes),
      method: directory.readUInt16LE(next + 10),
      packedBytes: directory.readUInt32LE(next + 20),
      bytes: directory.readUInt32LE(next + 24),
      headerPosition: directory.readUInt32LE(next + 42),
    });
    next =
      nameAt + nameBytes + directory.readUInt16LE(next + 30) + directory.readUInt16LE(next + 32);
  }
  return entries;
}

/** Unpacks one entry into `target`. Throws if it is packed in a way other than stored or deflated. */
export async function unpackZipEntry(
  file: FileHandle,
  entry: ZipEntry,
  target: Writable,
): Promise<void> {
  const at = entry.headerPosition;
  const header = await read(file, at, at + localHeaderBytes);
  const start = at + localHeaderBytes + header.readUInt16LE(26) + header.readUInt16LE(28);
  const end = start + entry.packedBytes - 1;
  const source: Readable = file.createReadStream({ start, end, autoClose: false });
  if (entry.method === 0) {
    await pipeline(source, target);
  } else if (entry.method === 8) {
    await pipeline(source, createInflateRaw(), target);
  } else {
    throw new Error(`zip method ${entry.method} is not read`);
  }
}

async function read(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.alloc(end - start);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
  if (bytesRead !== bytes.length) throw new Error("the zip file ends early");
  return bytes;
}
