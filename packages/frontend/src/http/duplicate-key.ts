import { endOfString, isBeforeColon } from "./json-text.ts";

/** A key that an object has twice, and where. */
export interface DuplicateKey {
  readonly key: string;
  /** `messages[0].role`, as a client's author would write it. */
  readonly path: string;
}

/** An object or an array that is open. */
interface Level {
  /** Null in an array. */
  readonly keys: Set<string> | null;
  /** The key or the index of the value at hand. */
  at: string | number;
}

/** Finds the first key that an object has twice; null if there is none. The text must be JSON. */
export function duplicateKey(text: string): DuplicateKey | null {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const end = text[at] === '"' ? endOfString(text, at + 1) : at;
    const level = levels.at(-1);
    if (end > at && level !== undefined && isBeforeColon(text, end + 1)) {
      const key = JSON.parse(text.slice(at, end + 1)) as string;
      level.at = key;
      if (level.keys?.has(key)) return { key: shown(key), path: pathOf(levels) };
      level.keys?.add(key);
    } else if (end === at) {
      follow(text[at], level, levels);
    }
    at = end;
  }
  return null;
}

function follow(character: string | undefined, level: Level | undefined, levels: Level[]): void {
  if (character === "{") levels.push({ keys: new Set(), at: "" });
  else if (character === "[") levels.push({ keys: null, at: 0 });
  else if (character === "}" || character === "]") levels.pop();
  else if (character === "," && typeof level?.at === "number") level.at += 1;
}

function pathOf(levels: readonly Level[]): string {
  return levels.reduce((path, { at }) => {
    if (typeof at === "number") return `${path}[${at}]`;
    return path === "" ? shown(at) : `${path}.${shown(at)}`;
  }, "");
}

/** A key is the client's own text, of any length. */
function shown(key: string): string {
  return key.length <= 100 ? key : `${key.slice(0, 100)}…`;
}
