import { subjectRow } from "@baton/protocol";
import type { ObservedMessage } from "@baton/runtime";
import type { SimOptions } from "./simulation.ts";

/** Writes every message and every fault of a run as a line. */
export function showingMessages(write: (line: string) => void): SimOptions {
  return {
    onNote: (atMs, text) => write(`${time(atMs)} ******** ${text}`),
    onMessage: (message) => write(lineOf(message)),
  };
}

function lineOf({
  atMs,
  chunk,
  from,
  payload,
  receivers,
  reply,
  subject,
}: ObservedMessage): string {
  const short = subject.split(".").slice(4).join(".");
  const to = reply === "" ? "" : ` reply ${reply.split(".").slice(4).join(".")}`;
  const body = chunk === null ? bodyOf(subject, payload) : `part of ${payload.length} bytes`;
  return `${time(atMs)} ${from} → ${receivers} ${short}${to} ${body}`;
}

function time(atMs: number): string {
  return ((atMs % 1_000_000) / 1_000).toFixed(6);
}

function bodyOf(subject: string, payload: Uint8Array): string {
  const message = subjectRow(subject)?.message;
  if (message === undefined || message === null) return `${payload.length} bytes`;
  try {
    return JSON.stringify(message.decode(payload), (_, value: unknown) =>
      value instanceof Uint8Array ? shortHex(value) : value,
    );
  } catch {
    return `not decoded: ${shortHex(payload)}`;
  }
}

function shortHex(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return hex.length > 64 ? `${hex.slice(0, 64)}… (${bytes.length} bytes)` : hex;
}
