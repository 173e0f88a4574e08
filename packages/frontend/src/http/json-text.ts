/** Hot path: a few calls per string of a body. Looks at JSON as it is written. */

const backslash = 0x5c;
const colon = 0x3a;

/** Where the string ends that begins at `from`, after its opening quote; −1 if it does not. */
export function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (before >= from && text.charCodeAt(before) === backslash) before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
  return -1;
}

/** Whether a colon follows, after white space perhaps: what stands before it is a key. */
export function isBeforeColon(text: string, from: number): boolean {
  let at = from;
  let code = text.charCodeAt(at);
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
    at += 1;
    code = text.charCodeAt(at);
  }
  return code === colon;
}
