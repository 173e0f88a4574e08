import type { TailLine } from "./tail.ts";

const valueWidth = 160;

/** A line of `baton tail` for people: time, who and what, and the beginning of the message. */
export function tailText({ at, subject, name, message }: TailLine): string {
  const time = timeOfDay(at);
  const tokens = subject.split(".");
  const place = tokens.slice(4).join(".");
  const body = JSON.stringify(message);
  const shown = body.length > valueWidth ? `${body.slice(0, valueWidth)}…` : body;
  return `${time}  ${place.padEnd(44)} ${name.padEnd(20)} ${shown}`;
}

/** `HH:MM:SS.mmm`, UTC. */
function timeOfDay(atMs: number): string {
  const pad = (value: number, width: number): string =>
    String(Math.floor(value)).padStart(width, "0");
  const ofDay = atMs % 86_400_000;
  const hours = pad(ofDay / 3_600_000, 2);
  const minutes = pad((ofDay / 60_000) % 60, 2);
  const seconds = pad((ofDay / 1_000) % 60, 2);
  return `${hours}:${minutes}:${seconds}.${pad(ofDay % 1_000, 3)}`;
}
